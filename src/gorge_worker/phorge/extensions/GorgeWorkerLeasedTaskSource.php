<?php

// Part of gorge-worker.

/**
 * Takes class and data from Phorge's own queue, and only of a task that the
 * claimed owner has leased: who has a token can then execute nothing that
 * Phorge itself has not queued.
 */
final class GorgeWorkerLeasedTaskSource extends Phobject {

  /**
   * Loads a task that can be executed, and that can not be saved.
   *
   * @param array<string, mixed> $request Keys: taskID, taskClass, leaseOwner.
   * @return PhabricatorWorkerActiveTask
   * @throws ConduitException There is no such task, or no such lease.
   */
  public function newTask(array $request) {
    $task = id(new PhabricatorWorkerActiveTask())
      ->load((int)idx($request, 'taskID'));
    if (!$task) {
      throw $this->newLeaseException(pht('it is not in the queue'));
    }

    $owner = (string)idx($request, 'leaseOwner');
    if ($owner === '' || $owner[0] === '(') {
      // "(yield)" and its like are states of a task, and nobody's name.
      throw $this->newLeaseException(pht('no lease owner is claimed'));
    }
    if ($task->getLeaseOwner() !== $owner) {
      throw $this->newLeaseException(pht('another owner has it'));
    }
    if ((int)$task->getLeaseExpires() <= $this->loadServerTime($task)) {
      throw $this->newLeaseException(pht('its lease has ended'));
    }
    if ($task->getTaskClass() !== idx($request, 'taskClass')) {
      throw $this->newLeaseException(pht('it is of another class'));
    }

    $data = id(new PhabricatorWorkerTaskData())->load($task->getDataID());
    return $task
      ->makeEphemeral()
      ->setData($data ? $data->getData() : null)
      ->setServerTime(PhabricatorTime::getNow());
  }

  /** Leases end by the database's clock, whatever the web server's shows. */
  private function loadServerTime(PhabricatorWorkerActiveTask $task) {
    $row = queryfx_one(
      $task->establishConnection('r'),
      'SELECT UNIX_TIMESTAMP() now');
    return (int)$row['now'];
  }

  private function newLeaseException($reason) {
    return id(new ConduitException('ERR-WORKER-LEASE'))
      ->setErrorDescription(
        pht('The task is not leased by this caller: %s.', $reason));
  }

}
