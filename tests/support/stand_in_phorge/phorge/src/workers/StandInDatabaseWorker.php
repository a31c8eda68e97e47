<?php

/** Notes the number that the server has given to the connection. */
final class StandInDatabaseWorker extends StandInWorker {

  protected function doWork() {
    $row = queryfx_one(
      id(new PhabricatorWorkerActiveTask())->establishConnection('w'),
      'SELECT CONNECTION_ID() number');
    $this->note(array('connection' => (int)$row['number']));
  }

}
