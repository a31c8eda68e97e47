<?php

final class PhabricatorConfigOption extends Phobject {

  private $key;
  private $default;
  private $locked = false;

  public function __construct($key, $type, $default) {
    $this->key = $key;
    $this->default = $default;
  }

  public function getKey() {
    return $this->key;
  }

  public function getDefault() {
    return $this->default;
  }

  public function setLocked($locked) {
    $this->locked = $locked;
    return $this;
  }

  public function setSummary($summary) {
    return $this;
  }

  public function setDescription($description) {
    return $this;
  }

  public function setBoolOptions(array $options) {
    return $this;
  }

}
