<?php

abstract class Phobject {

  public function __get($name) {
    throw new DomainException(
      pht('%s has no property "%s" to read.', get_class($this), $name));
  }

  public function __set($name, $value) {
    throw new DomainException(
      pht('%s has no property "%s" to write.', get_class($this), $name));
  }

}
