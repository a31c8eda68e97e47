<?php

abstract class PhabricatorWorkerTask extends LiskDAO {

  protected $taskClass;
  protected $leaseOwner;
  protected $leaseExpires;
  protected $failureCount;
  protected $dataID;
  protected $priority;
  protected $objectPHID;
  protected $containerPHID;

  private $data;
  private $executionException;

  protected function getApplicationName() {
    return 'worker';
  }

  public function setData($data) {
    $this->data = $data;
    return $this;
  }

  public function getData() {
    return $this->data;
  }

  public function setExecutionException($exception) {
    $this->executionException = $exception;
    return $this;
  }

  public function getExecutionException() {
    return $this->executionException;
  }

  public function getWorkerInstance() {
    $class = $this->getTaskClass();
    class_exists($class);
    if (!is_subclass_of($class, 'PhabricatorWorker')) {
      throw new PhabricatorWorkerPermanentFailureException(
        "Task class '{$class}' does not extend PhabricatorWorker.");
    }
    return new $class($this->getData());
  }

}
