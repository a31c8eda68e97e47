<?php

abstract class PhabricatorWorker extends Phobject {

  const PRIORITY_DEFAULT = 2000;

  private $data;
  private $queuedTasks = array();
  private $currentWorkerTask;

  final public function __construct($data) {
    $this->data = $data;
  }

  abstract protected function doWork();

  public function getRequiredLeaseTime() {
    return null;
  }

  public function getMaximumRetryCount() {
    return null;
  }

  public function getWaitBeforeRetry(PhabricatorWorkerTask $task) {
    return null;
  }

  public function setCurrentWorkerTask(PhabricatorWorkerTask $task) {
    $this->currentWorkerTask = $task;
    return $this;
  }

  public function getCurrentWorkerTask() {
    return $this->currentWorkerTask;
  }

  final protected function getTaskData() {
    return $this->data;
  }

  final public function executeTask() {
    $this->doWork();
  }

  final protected function queueTask(
    $class,
    array $data,
    array $options = array()) {
    $this->queuedTasks[] = array($class, $data, $options);
    return $this;
  }

  final protected function getQueuedTasks() {
    return $this->queuedTasks;
  }

  final public function flushTaskQueue($defaults = array()) {
    foreach ($this->getQueuedTasks() as $task) {
      list($class, $data, $options) = $task;
      self::scheduleTask($class, $data, $options + $defaults);
    }
    $this->queuedTasks = array();
  }

  final public static function scheduleTask($class, $data, $options) {
    id(new PhabricatorWorkerActiveTask())
      ->setTaskClass($class)
      ->setData($data)
      ->setPriority(coalesce(idx($options, 'priority'), self::PRIORITY_DEFAULT))
      ->setObjectPHID(idx($options, 'objectPHID'))
      ->setContainerPHID(idx($options, 'containerPHID'))
      ->save();
  }

}
