<?php

abstract class Phobject {

  public function __set($name, $value) {
    throw new Exception("There is no property \"{$name}\".");
  }

  public function __get($name) {
    throw new Exception("There is no property \"{$name}\".");
  }

}
