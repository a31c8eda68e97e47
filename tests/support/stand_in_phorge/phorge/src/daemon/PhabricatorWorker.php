<?php

/** The base of all task classes. */
abstract class PhabricatorWorker extends Phobject {

  const PRIORITY_ALERTS = 1000;
  const PRIORITY_DEFAULT = 2000;
  const PRIORITY_COMMIT = 2500;
  const PRIORITY_BULK = 3000;
  const PRIORITY_INDEX = 3500;
  const PRIORITY_IMPORT = 4000;

  const YIELD_OWNER = '(yield)';

  private $data;
  private $task;
  private $queued = array();

  final public function __construct($data) {
    $this->data = $data;
  }

  abstract protected function doWork();

  /** @return int|null Seconds. */
  public function getRequiredLeaseTime() {
    return null;
  }

  public function getMaximumRetryCount() {
    return null;
  }

  /** @return int|null Seconds. */
  public function getWaitBeforeRetry(PhabricatorWorkerTask $task) {
    return null;
  }

  public function setCurrentWorkerTask(PhabricatorWorkerTask $task) {
    $this->task = $task;
    return $this;
  }

  public function getCurrentWorkerTask() {
    return $this->task;
  }

  public function getCurrentWorkerTaskID() {
    return $this->task ? $this->task->getID() : null;
  }

  final protected function getTaskData() {
    return $this->data;
  }

  final protected function getTaskDataValue($key, $default = null) {
    if (!is_array($this->data)) {
      throw new PhabricatorWorkerPermanentFailureException(
        'The data of the task is no dictionary.');
    }
    return idx($this->data, $key, $default);
  }

  final public function executeTask() {
    $this->doWork();
  }

  final protected function queueTask(
    $class,
    array $data,
    array $options = array()) {
    $this->queued[] = array($class, $data, $options);
    return $this;
  }

  final protected function getQueuedTasks() {
    return $this->queued;
  }

  final public function flushTaskQueue($defaults = array()) {
    foreach ($this->queued as $spec) {
      list($class, $data, $options) = $spec;
      self::scheduleTask($class, $data, $options + $defaults);
    }
    $this->queued = array();
  }

  final public static function scheduleTask(
    $class,
    $data,
    $options = array()) {

    $known = array('priority', 'objectPHID', 'containerPHID', 'delayUntil');
    $unknown = array_diff(array_keys($options), $known);
    if ($unknown) {
      throw new Exception(
        pht('A task has no option "%s".', head($unknown)));
    }

    $delay = idx($options, 'delayUntil');
    return id(new PhabricatorWorkerActiveTask())
      ->setTaskClass($class)
      ->setData($data)
      ->setPriority(
        coalesce(idx($options, 'priority'), self::PRIORITY_DEFAULT))
      ->setObjectPHID(idx($options, 'objectPHID'))
      ->setContainerPHID(idx($options, 'containerPHID'))
      ->setLeaseExpires($delay ? $delay : null)
      ->save();
  }

}
