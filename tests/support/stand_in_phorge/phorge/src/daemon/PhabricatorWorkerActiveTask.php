<?php

final class PhabricatorWorkerActiveTask extends PhabricatorWorkerTask {

  protected $failureTime;

  private $serverTime;

  public function getTableName() {
    return 'worker_activetask';
  }

  public function setServerTime($server_time) {
    $this->serverTime = $server_time;
    return $this;
  }

  /** Enqueues the task; nothing here changes one that is in the queue. */
  public function save() {
    $this->requireMutable();
    if ($this->getID()) {
      throw new Exception('The stand-in does not change tasks.');
    }

    $data = id(new PhabricatorWorkerTaskData())
      ->setData($this->getData())
      ->save();
    $this->dataID = $data->getID();
    $this->failureCount = 0;
    $this->dateCreated = $this->dateModified = time();
    $this->setID($this->takeID());

    $columns = array(
      'id',
      'taskClass',
      'leaseOwner',
      'leaseExpires',
      'failureCount',
      'dataID',
      'failureTime',
      'priority',
      'objectPHID',
      'containerPHID',
      'dateCreated',
      'dateModified',
    );
    $row = array();
    foreach ($columns as $column) {
      $row[$column] = $this->$column;
    }
    $this->insertRow($row);
    return $this;
  }

  private function takeID() {
    $connection = $this->establishConnection('w');
    queryfx(
      $connection,
      'INSERT INTO %T (counterName, counterValue) VALUES
        (%s, LAST_INSERT_ID(1))
        ON DUPLICATE KEY UPDATE
        counterValue = LAST_INSERT_ID(counterValue + 1)',
      'lisk_counter',
      $this->getTableName());
    return $connection->getInsertID();
  }

}
