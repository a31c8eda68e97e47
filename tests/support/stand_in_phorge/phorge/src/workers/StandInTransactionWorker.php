<?php

/**
 * Enqueues a task within a transaction that it leaves open, and fails, unless
 * "succeeds" is true.
 */
final class StandInTransactionWorker extends StandInWorker {

  protected function doWork() {
    $this->note();
    id(new PhabricatorWorkerActiveTask())->openTransaction();
    self::scheduleTask('StandInSucceedWorker', array('lost' => true));
    if (!$this->getOption('succeeds')) {
      throw new Exception('The task has failed within a transaction.');
    }
  }

}
