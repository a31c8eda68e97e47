<?php

/** A lock within this process: whoever takes it twice is told so. */
final class PhutilLock extends Phobject {

  private static $held = array();

  public static function lockName($name) {
    if (isset(self::$held[$name])) {
      throw new Exception("The lock \"{$name}\" is held already.");
    }
    self::$held[$name] = true;
  }

  public static function unlockAll() {
    self::$held = array();
  }

}
