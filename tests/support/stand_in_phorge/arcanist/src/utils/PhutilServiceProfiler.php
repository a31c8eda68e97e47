<?php

/** Keeps every call of a service, unless it was told to forget them. */
final class PhutilServiceProfiler extends Phobject {

  private static $instance;

  private $calls = array();
  private $discards = false;

  public static function getInstance() {
    if (!self::$instance) {
      self::$instance = new self();
    }
    return self::$instance;
  }

  public function enableDiscardMode() {
    $this->discards = true;
    $this->calls = array();
    return $this;
  }

  public function addCall($what) {
    if (!$this->discards) {
      $this->calls[] = $what;
    }
  }

}
