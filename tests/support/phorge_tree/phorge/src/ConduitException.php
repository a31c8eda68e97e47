<?php

class ConduitException extends Exception {

  private $errorDescription;

  public function setErrorDescription($description) {
    $this->errorDescription = $description;
    return $this;
  }

  public function getErrorDescription() {
    return $this->errorDescription;
  }

}
