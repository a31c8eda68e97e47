<?php

/** How deep in transactions a connection is. */
final class AphrontDatabaseTransactionState extends Phobject {

  private $depth = 0;

  public function getDepth() {
    return $this->depth;
  }

  public function getSavepointName() {
    return 'stand_in_'.$this->depth;
  }

  public function enter() {
    $this->depth++;
  }

  public function leave() {
    if (!$this->depth) {
      throw new Exception('No transaction is open that could be ended.');
    }
    $this->depth--;
    return $this->depth;
  }

  public function forget() {
    $this->depth = 0;
  }

  public function __destruct() {
    if ($this->depth) {
      throw new Exception(
        'A transaction is still open, and is rolled back now.');
    }
  }

}
