<?php

/** A lock with a name, which one process holds once. */
abstract class PhutilLock extends Phobject {

  private static $locks = array();

  private $name;
  private $locked = false;

  protected function __construct($name) {
    $this->name = $name;
  }

  abstract protected function doLock($wait);
  abstract protected function doUnlock();

  protected static function getLock($name) {
    return idx(self::$locks, $name);
  }

  protected static function registerLock(PhutilLock $lock) {
    if (!self::$locks) {
      register_shutdown_function(array(__CLASS__, 'unlockAll'));
    }
    self::$locks[$lock->name] = $lock;
  }

  final public function isLocked() {
    return $this->locked;
  }

  final public function lock($wait = 0) {
    if ($this->locked) {
      throw new Exception(
        pht('This process holds the lock "%s" already.', $this->name));
    }
    $this->doLock((float)$wait);
    $this->locked = true;
    return $this;
  }

  final public function unlock() {
    if (!$this->locked) {
      throw new Exception(
        pht('This process does not hold the lock "%s".', $this->name));
    }
    $this->doUnlock();
    $this->locked = false;
    return $this;
  }

  public static function unlockAll() {
    foreach (self::$locks as $lock) {
      if ($lock->locked) {
        $lock->unlock();
      }
    }
  }

}
