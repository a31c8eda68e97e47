<?php

/** The message is the code of the error. */
class ConduitException extends Exception {

  private $description;

  final public function setErrorDescription($description) {
    $this->description = $description;
    return $this;
  }

  final public function getErrorDescription() {
    return $this->description;
  }

}
