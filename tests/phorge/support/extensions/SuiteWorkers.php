<?php

// Task classes of gorge-worker's suite: put into a copy of Phorge, never into a
// Phorge that is in use.

abstract class SuiteWorker extends PhabricatorWorker {

  /** One line an execution, in the file that the task's data names. */
  final protected function note() {
    $line = $this->getCurrentWorkerTask()->getID().' '.getmypid()."\n";
    file_put_contents(
      idx($this->getTaskData(), 'file'),
      $line,
      FILE_APPEND | LOCK_EX);
  }

}

final class SuiteNoteWorker extends SuiteWorker {

  protected function doWork() {
    $this->note();
  }

}

final class SuiteFailWorker extends SuiteWorker {

  protected function doWork() {
    throw new Exception('This always fails.');
  }

  public function getWaitBeforeRetry(PhabricatorWorkerTask $task) {
    return 1000 * $task->getFailureCount();
  }

}

final class SuiteDefaultWaitWorker extends SuiteWorker {

  protected function doWork() {
    throw new Exception('This always fails, and does not say until when.');
  }

}

final class SuiteLimitedWorker extends SuiteWorker {

  protected function doWork() {
    $this->note();
    throw new Exception('This fails twice.');
  }

  public function getMaximumRetryCount() {
    return 1;
  }

  public function getWaitBeforeRetry(PhabricatorWorkerTask $task) {
    return 1;
  }

}

final class SuiteYieldWorker extends SuiteWorker {

  /** Yields once, and succeeds when it is executed again. */
  protected function doWork() {
    $known = file_exists(idx($this->getTaskData(), 'file'));
    $this->note();
    if (!$known) {
      throw new PhabricatorWorkerYieldException(1234);
    }
  }

}

final class SuitePermanentWorker extends SuiteWorker {

  protected function doWork() {
    throw new PhabricatorWorkerPermanentFailureException('This can not be.');
  }

}

final class SuiteParentWorker extends SuiteWorker {

  protected function doWork() {
    $data = $this->getTaskData();
    $this->queueTask('SuiteNoteWorker', $data);
    $this->queueTask(
      'SuiteNoteWorker',
      $data,
      array(
        'priority' => 4321,
        'objectPHID' => 'PHID-SUIT-object',
        'containerPHID' => 'PHID-SUIT-container',
      ));
    $this->queueTask('SuiteExactWorker', array('key' => 9007199254740993));
  }

}

final class SuiteExactWorker extends SuiteWorker {

  /** Numbers like the keys of feed stories, which not everybody can count. */
  protected function doWork() {
    $data = $this->getTaskData();
    if (is_array($data)) {
      $data = idx($data, 'key');
    }
    if ($data !== 9007199254740993) {
      throw new PhabricatorWorkerPermanentFailureException('Data has changed.');
    }
  }

}
