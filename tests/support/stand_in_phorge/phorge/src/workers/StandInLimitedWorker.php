<?php

final class StandInLimitedWorker extends StandInWorker {

  public function getMaximumRetryCount() {
    return 3;
  }

  protected function doWork() {
    $this->note();
    throw new Exception('The task fails until it may not any more.');
  }

}
