<?php

// Part of gorge-worker.

/**
 * Executes one task and says what it came to. The caller owns the task's row
 * in the queue: nothing is written to it here.
 *
 * Outcomes are told apart as PhabricatorWorkerActiveTask::executeTask() does.
 */
final class GorgeWorkerTaskExecutor extends Phobject {

  const VERSION = 1;

  private $source;
  private $exportsFollowups = true;
  private $exception;

  /**
   * @param GorgeWorkerRequestTaskSource|GorgeWorkerLeasedTaskSource $source
   *   Where tasks are taken from.
   */
  public function __construct($source) {
    $this->source = $source;
  }

  /**
   * True: a success names its follow-up tasks, for the caller to commit with
   * the completion. False: they are enqueued here, for callers that would not.
   */
  public function setExportsFollowups($exports) {
    $this->exportsFollowups = $exports;
    return $this;
  }

  /** @return Throwable|null What the last execution ended with. */
  public function getException() {
    return $this->exception;
  }

  /**
   * Says what the task's class asks for, and executes nothing.
   *
   * @return array<string, mixed> With the "leaseDuration" in seconds, or null.
   */
  public function prepare(array $request) {
    try {
      $worker = $this->newWorker($this->source->newTask($request));
    } catch (PhabricatorWorkerPermanentFailureException $ex) {
      return $this->newFailure('permanent-failure', $ex);
    }
    return $this->newResult(
      'prepared',
      array('leaseDuration' => $worker->getRequiredLeaseTime()));
  }

  /**
   * Executes a task.
   *
   * @param array<string, mixed> $request What the source makes a task of.
   * @param callable $will_execute (optional) Called just before the execution
   *   with the seconds that the class asks for, null for the default, and with
   *   the seconds that the class waits if the execution does not end well.
   * @return array<string, mixed> The result, as "worker.execute" answers it.
   */
  public function execute(array $request, $will_execute = null) {
    $this->exception = null;
    try {
      $task = $this->source->newTask($request);
    } catch (PhabricatorWorkerPermanentFailureException $ex) {
      return $this->newFailure('permanent-failure', $ex);
    }

    $worker = null;
    try {
      $worker = $this->newWorker($task);
      if ($will_execute) {
        $will_execute(
          $worker->getRequiredLeaseTime(),
          $this->getRetryWait($worker, clone $task));
      }
      $start = microtime(true);
      $worker->executeTask();
      $duration = phutil_microseconds_since($start);
    } catch (PhabricatorWorkerYieldException $ex) {
      return $this->newResult(
        'yield',
        array('retry' => max(5, (int)$ex->getDuration())));
    } catch (PhabricatorWorkerPermanentFailureException $ex) {
      return $this->newFailure('permanent-failure', $ex);
    } catch (Throwable $ex) {
      $task->setExecutionException($ex);
      $wait = $this->getRetryWait($worker, $task);
      return $this->newFailure('failure', $ex, array('retry' => $wait));
    }

    return $this->newSuccess($worker, $task, $duration);
  }

  private function newSuccess($worker, $task, $duration) {
    $followups = new GorgeWorkerFollowups($worker, $task);
    try {
      $extra = $this->exportsFollowups
        ? array('followups' => $followups->export())
        : array('followupCount' => $followups->enqueue());
    } catch (Throwable $ex) {
      if ($this->exportsFollowups) {
        // The work is done, and what it wants to enqueue is no task: doing it
        // again would end here again.
        $reason = pht('executed, but its follow-up tasks can not be used');
        return $this->newFailure('permanent-failure', $ex, array(), $reason);
      }
      // The work is done, but nobody will do what should follow: doing it
      // again is the only way that loses nothing.
      $wait = $this->getRetryWait($worker, $task);
      return $this->newFailure('failure', $ex, array('retry' => $wait));
    }
    return $this->newResult('success', array('duration' => $duration) + $extra);
  }

  private function newWorker(PhabricatorWorkerTask $task) {
    // PhabricatorWorkerTask means to fail permanently here too, but for a class
    // that is gone the autoloader may be faster with an exception of its own.
    $class = $task->getTaskClass();
    if (!class_exists($class)) {
      throw new PhabricatorWorkerPermanentFailureException(
        pht('Task class "%s" does not exist.', $class));
    }

    $worker = $task->getWorkerInstance();
    $worker->setCurrentWorkerTask($task);

    $most = $worker->getMaximumRetryCount();
    if ($most !== null && $task->getFailureCount() > $most) {
      throw new PhabricatorWorkerPermanentFailureException(
        pht(
          'Task %d has failed %d times, and its class allows %d failures.',
          (int)$task->getID(),
          (int)$task->getFailureCount(),
          (int)$most));
    }

    return $worker;
  }

  /** Changes the task: the class is asked with one failure more. */
  private function getRetryWait($worker, PhabricatorWorkerTask $task) {
    $wait = null;
    if ($worker) {
      $task->setFailureCount((int)$task->getFailureCount() + 1);
      try {
        $wait = $worker->getWaitBeforeRetry($task);
      } catch (Throwable $ex) {
        phlog($ex);
      }
    }
    return (int)coalesce(
      $wait,
      PhabricatorWorkerLeaseQuery::getDefaultWaitBeforeRetry());
  }

  private function newFailure(
    $result,
    Throwable $ex,
    array $extra = array(),
    $prefix = null) {

    $this->exception = $ex;
    phlog($ex);

    $reason = $ex->getMessage();
    if (!strlen($reason)) {
      $reason = get_class($ex);
    }
    if ($prefix !== null) {
      $reason = $prefix.': '.$reason;
    }
    return $this->newResult(
      $result,
      $extra + array(
        'failureClass' => get_class($ex),
        'failureReason' => $reason,
      ));
  }

  private function newResult($result, array $extra) {
    return array(
      'result' => $result,
      'executionVersion' => self::VERSION,
    ) + $extra;
  }

}
