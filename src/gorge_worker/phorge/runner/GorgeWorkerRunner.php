<?php

// Part of gorge-worker.

/**
 * Executes tasks that the worker sends, one at a time, until it is told to end
 * by an end of the requests, or asks to be replaced.
 *
 *   < {"ready": true, "pid": 4711, "php": "8.2.36"}
 *   > {"id": 7, "taskID": 41, "taskClass": "...", "data": "<JSON>", ...}
 *   < {"id": 7, "leaseDuration": null, "retry": 300}
 *   < {"id": 7, "result": "success", "duration": 2065, "followups": [],
 *      "rss": 46354432, "recycle": null}
 *
 * The second line comes just before the execution: the seconds that the class
 * asks for, and those that it waits should the process not live to answer.
 */
final class GorgeWorkerRunner extends Phobject {

  /** Bytes that are free when PHP has run out of memory. */
  const RESERVE = 262144;

  /** Seconds after which an unused database connection is closed. */
  const IDLE_CONNECTION = 60;

  private $channel;
  private $limits;
  private $executor;
  private $current;
  private $reserve;

  public function __construct(
    GorgeWorkerRunnerChannel $channel,
    GorgeWorkerRunnerLimits $limits) {
    $this->channel = $channel;
    $this->limits = $limits;
    $this->executor = new GorgeWorkerTaskExecutor(
      new GorgeWorkerRequestTaskSource());
  }

  public function run() {
    register_shutdown_function(array($this, 'didShutdown'));

    $this->setTitle('idle');
    $this->channel->send(
      array(
        'ready' => true,
        'pid' => getmypid(),
        'php' => PHP_VERSION,
      ));

    while (($request = $this->channel->receive()) !== null) {
      if (!$this->executeRequest($request)) {
        break;
      }
    }
  }

  /** @return bool True to go on. */
  private function executeRequest(array $request) {
    $this->current = $request['id'];
    $this->reserve = str_repeat('-', self::RESERVE);
    $this->setTitle(
      sprintf('task %d %s', $request['taskID'], $request['taskClass']));

    // What a task has set for itself must not end the next one.
    set_time_limit(0);
    PhabricatorCaches::destroyRequestCache();
    LiskDAO::closeInactiveConnections(self::IDLE_CONNECTION);

    $result = $this->executor->execute($request, array($this, 'willExecute'));

    $this->limits->countTask();
    $clean = ($result['result'] === 'success') || $this->cleanUp();
    if (!$clean) {
      $recycle = 'left-overs';
    } else if ($this->hasLostDatabase($this->executor->getException())) {
      $recycle = 'database';
    } else {
      $recycle = $this->limits->getReasonToRecycle();
    }

    $answer = array('id' => $this->current) + $result + array(
      'rss' => $this->limits->getResidentBytes(),
      'recycle' => $recycle,
    );
    $this->current = null;
    $this->setTitle('idle');
    $this->channel->send($answer);

    return ($recycle === null);
  }

  public function willExecute($lease_duration, $retry) {
    $this->channel->send(
      array(
        'id' => $this->current,
        'leaseDuration' => $lease_duration,
        'retry' => $retry,
      ));
  }

  /**
   * PHP's own daemon ends its process after a failure, and with it whatever
   * the task has left: an open transaction would swallow what the next task
   * writes, and a lock would be held for ever.
   *
   * @return bool False if something is left that only an end can undo.
   */
  private function cleanUp() {
    try {
      PhutilLock::unlockAll();
      LiskDAO::closeAllConnections();
    } catch (Throwable $ex) {
      // A transaction that is still open says so when it is rolled back.
      phlog($ex);
      return false;
    }
    return true;
  }

  /**
   * Without its database no task of this process would fare better, and the
   * next process does not become ready: then the worker waits, where this one
   * would cost every task a failure.
   */
  private function hasLostDatabase($ex) {
    for (; $ex; $ex = $ex->getPrevious()) {
      if ($ex instanceof AphrontConnectionQueryException
        || $ex instanceof AphrontConnectionLostQueryException
        || $ex instanceof PhabricatorClusterStrandedException) {
        return true;
      }
    }
    return false;
  }

  /** Answers for a task that has ended the process. */
  public function didShutdown() {
    if ($this->current === null) {
      return;
    }
    $id = $this->current;
    $this->current = null;
    $this->reserve = null;
    ini_set('memory_limit', -1);

    $this->channel->send(
      array(
        'id' => $id,
        'result' => 'failure',
        'failureReason' => $this->getReasonOfEnd(),
        'recycle' => 'ended',
      ));
  }

  private function getReasonOfEnd() {
    $fatal = E_ERROR | E_PARSE | E_CORE_ERROR | E_COMPILE_ERROR | E_USER_ERROR
      | E_RECOVERABLE_ERROR;
    $error = error_get_last();
    if (!$error || !($error['type'] & $fatal)) {
      return pht('the task ended the PHP process: it called exit()');
    }
    $message = head(explode("\n", $error['message']));
    return pht(
      'the PHP process ended: %s (%s:%d)',
      $message,
      basename($error['file']),
      $error['line']);
  }

  /** For operators: what "ps" shows. */
  private function setTitle($state) {
    if (PHP_OS === 'Linux') {
      cli_set_process_title('gorge-worker runner: '.$state);
    }
  }

}
