<?php

final class StandInBrokenWaitWorker extends StandInWorker {

  public function getWaitBeforeRetry(PhabricatorWorkerTask $task) {
    throw new Exception('Nobody knows how long to wait.');
  }

  protected function doWork() {
    $this->note();
    throw new Exception('The task has failed.');
  }

}
