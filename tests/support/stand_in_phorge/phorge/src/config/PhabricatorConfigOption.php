<?php

final class PhabricatorConfigOption extends Phobject {

  private $key;
  private $default;

  public function __construct($key, $default) {
    $this->key = $key;
    $this->default = $default;
  }

  public function getKey() {
    return $this->key;
  }

  public function getDefault() {
    return $this->default;
  }

  // What administrators see is no matter here.

  public function setLocked($locked) {
    return $this;
  }

  public function setSummary($summary) {
    return $this;
  }

  public function setDescription($description) {
    return $this;
  }

  public function setBoolOptions(array $names) {
    return $this;
  }

}
