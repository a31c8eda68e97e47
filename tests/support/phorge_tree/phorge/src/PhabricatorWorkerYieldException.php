<?php

final class PhabricatorWorkerYieldException extends Exception {

  private $duration;

  public function __construct($duration) {
    $this->duration = $duration;
    parent::__construct();
  }

  public function getDuration() {
    return $this->duration;
  }

}
