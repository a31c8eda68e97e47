<?php

/** Waits longer after each failure. Data: "kills" for an end without a word. */
final class StandInWaitWorker extends StandInWorker {

  public function getWaitBeforeRetry(PhabricatorWorkerTask $task) {
    return 15 * $task->getFailureCount();
  }

  protected function doWork() {
    $this->note();
    if ($this->getOption('kills')) {
      posix_kill(getmypid(), SIGKILL);
    }
    throw new Exception('The task has failed, and may wait.');
  }

}
