<?php

final class StandInPermanentFailWorker extends StandInWorker {

  protected function doWork() {
    $this->note();
    throw new PhabricatorWorkerPermanentFailureException(
      $this->getOption('message', 'The task can never succeed.'));
  }

}
