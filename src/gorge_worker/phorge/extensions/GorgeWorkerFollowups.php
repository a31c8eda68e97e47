<?php

// Part of gorge-worker.

/** The tasks that a worker wants to be queued because it has succeeded. */
final class GorgeWorkerFollowups extends Phobject {

  private $worker;
  private $task;

  public function __construct(
    PhabricatorWorker $worker,
    PhabricatorWorkerTask $task) {
    $this->worker = $worker;
    $this->task = $task;
  }

  /**
   * What PhabricatorWorker::flushTaskQueue() would queue.
   *
   * @return list<array<string, mixed>> In the form in which a queue's
   *   "enqueue" takes them; "delayUntil" is in epoch seconds.
   */
  public function export() {
    $followups = array();
    foreach ($this->getQueuedTasks() as $spec) {
      list($class, $data, $options) = $spec;
      $options = $options + $this->getDefaults();
      $delay = idx($options, 'delayUntil');
      $followups[] = array(
        'taskClass' => $class,
        'data' => phutil_json_encode($data),
        'priority' => (int)coalesce(
          idx($options, 'priority'),
          PhabricatorWorker::PRIORITY_DEFAULT),
        'objectPHID' => idx($options, 'objectPHID'),
        'containerPHID' => idx($options, 'containerPHID'),
        'delayUntil' => $delay ? (int)$delay : null,
      );
    }
    return $followups;
  }

  /**
   * Queues them in Phorge's own queue, all or none: the task is executed again
   * if this fails, and would queue some twice.
   *
   * @return int How many.
   */
  public function enqueue() {
    $count = count($this->getQueuedTasks());
    if (!$count) {
      return 0;
    }

    $table = new PhabricatorWorkerActiveTask();
    $table->openTransaction();
    try {
      $this->worker->flushTaskQueue($this->getDefaults());
      $table->saveTransaction();
    } catch (Throwable $ex) {
      $table->killTransaction();
      throw $ex;
    }
    return $count;
  }

  /** PhabricatorWorkerActiveTask::executeTask() hands down no more than this. */
  private function getDefaults() {
    return array('priority' => (int)$this->task->getPriority());
  }

  private function getQueuedTasks() {
    // PhabricatorWorker::getQueuedTasks() is protected.
    $method = new ReflectionMethod('PhabricatorWorker', 'getQueuedTasks');
    $method->setAccessible(true);
    return $method->invoke($this->worker);
  }

}
