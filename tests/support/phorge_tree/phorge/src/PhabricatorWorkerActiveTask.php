<?php

final class PhabricatorWorkerActiveTask extends PhabricatorWorkerTask {

  protected $failureTime;

  private $serverTime;

  public function getTableName() {
    return 'worker_activetask';
  }

  public function setServerTime($time) {
    $this->serverTime = $time;
    return $this;
  }

  protected function insertRow() {
    $connection = $this->establishConnection('w');
    queryfx_all(
      $connection,
      'INSERT INTO worker_taskdata (data) VALUES (%s)',
      phutil_json_encode($this->getData()));
    $data_id = $connection->getInsertID();
    queryfx_all(
      $connection,
      "INSERT INTO lisk_counter (counterName, counterValue)
        VALUES ('worker_activetask', LAST_INSERT_ID(1))
        ON DUPLICATE KEY UPDATE
          counterValue = LAST_INSERT_ID(counterValue + 1)");
    $this->id = $connection->getInsertID();
    queryfx_all(
      $connection,
      'INSERT INTO worker_activetask (id, taskClass, failureCount, dataID,
        priority, objectPHID, containerPHID, dateCreated, dateModified)
        VALUES (%d, %s, 0, %d, %d, NULLIF(%s, \'\'), NULLIF(%s, \'\'),
          UNIX_TIMESTAMP(), UNIX_TIMESTAMP())',
      $this->id,
      $this->taskClass,
      $data_id,
      $this->priority,
      (string)$this->objectPHID,
      (string)$this->containerPHID);
    return $this;
  }

}
