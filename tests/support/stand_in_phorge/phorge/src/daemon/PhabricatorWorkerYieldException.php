<?php

final class PhabricatorWorkerYieldException extends Exception {

  private $duration;

  public function __construct($duration) {
    parent::__construct();
    $this->duration = $duration;
  }

  public function getDuration() {
    return $this->duration;
  }

}
