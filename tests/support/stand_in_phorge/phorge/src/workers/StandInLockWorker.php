<?php

/** Takes the lock "lock", a file, keeps it, and fails unless "succeeds". */
final class StandInLockWorker extends StandInWorker {

  protected function doWork() {
    PhutilFileLock::newForPath($this->getTaskDataValue('lock'))->lock();
    $this->note();
    if (!$this->getOption('succeeds')) {
      throw new Exception('The task has failed with a lock.');
    }
  }

}
