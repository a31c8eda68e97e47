<?php

final class PhutilMissingSymbolException extends Exception {

  public function __construct($symbol) {
    parent::__construct(
      "Failed to load symbol \"{$symbol}\": no library here has it.");
  }

}
