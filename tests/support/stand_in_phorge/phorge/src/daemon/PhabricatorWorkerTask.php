<?php

abstract class PhabricatorWorkerTask extends PhabricatorWorkerDAO {

  protected $taskClass;
  protected $leaseOwner;
  protected $leaseExpires;
  protected $failureCount;
  protected $dataID;
  protected $priority;
  protected $objectPHID;
  protected $containerPHID;
  protected $dateCreated;
  protected $dateModified;

  private $data;
  private $exception;

  final public function setData($data) {
    $this->data = $data;
    return $this;
  }

  final public function getData() {
    return $this->data;
  }

  final public function setExecutionException($exception) {
    $this->exception = $exception;
    return $this;
  }

  final public function getExecutionException() {
    return $this->exception;
  }

  final public function getWorkerInstance() {
    $class = $this->getTaskClass();
    if (!is_subclass_of($class, 'PhabricatorWorker')) {
      throw new PhabricatorWorkerPermanentFailureException(
        pht("Task class '%s' is no PhabricatorWorker.", $class));
    }
    return newv($class, array($this->getData()));
  }

}
