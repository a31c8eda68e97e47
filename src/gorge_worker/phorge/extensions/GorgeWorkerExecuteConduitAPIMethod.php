<?php

// Part of gorge-worker.

/** "worker.execute": has one queued task executed. */
final class GorgeWorkerExecuteConduitAPIMethod extends ConduitAPIMethod {

  const MOST_OUTPUT = 65536;

  public function getAPIMethodName() {
    return 'worker.execute';
  }

  public function getMethodDescription() {
    return pht('Execute one queued task, for gorge-worker.');
  }

  public function getMethodStatus() {
    return self::METHOD_STATUS_UNSTABLE;
  }

  public function isInternalAPI() {
    return true;
  }

  public function getRequiredScope() {
    return self::SCOPE_NEVER;
  }

  protected function defineParamTypes() {
    return array(
      'taskID' => 'required int',
      'taskClass' => 'required string',
      'data' => 'optional string',
      'failureCount' => 'optional int',
      'priority' => 'optional int',
      'objectPHID' => 'optional phid',
      'containerPHID' => 'optional phid',
      'leaseOwner' => 'optional string',
      'leaseExpires' => 'optional int',
      'executionVersion' => 'optional int',
      'phase' => 'optional string',
    );
  }

  protected function defineReturnType() {
    return 'map<string, wild>';
  }

  protected function defineErrorTypes() {
    return array(
      'ERR-WORKER-AUTH' => pht(
        'This account may not execute tasks: the option '.
        '"gorge-worker.callers" does not list it.'),
      'ERR-WORKER-LEASE' => pht('The task is not leased by this caller.'),
      'ERR-NO-TASK-CLASS' => pht('A "taskClass" is required.'),
      'ERR-BAD-PHASE' => pht('The phases are "prepare" and "execute".'),
      'ERR-BAD-VERSION' => pht('The only "executionVersion" is 1.'),
    );
  }

  protected function execute(ConduitAPIRequest $request) {
    $this->requireCaller($request->getUser());

    $version = $request->getValue('executionVersion');
    if ($version !== null && $version !== GorgeWorkerTaskExecutor::VERSION) {
      throw new ConduitException('ERR-BAD-VERSION');
    }

    $phase = $request->getValue('phase', 'execute');
    if ($phase === 'capabilities') {
      return array(
        'result' => 'capabilities',
        'executionVersion' => GorgeWorkerTaskExecutor::VERSION,
      );
    }

    if (!phutil_nonempty_string($request->getValue('taskClass'))) {
      throw new ConduitException('ERR-NO-TASK-CLASS');
    }

    // Callers of the time before there were versions ignore what they are told
    // of follow-up tasks.
    $executor = id(new GorgeWorkerTaskExecutor($this->newTaskSource()))
      ->setExportsFollowups($version !== null);

    $parameters = $request->getAllParameters();
    switch ($phase) {
      case 'prepare':
        return $executor->prepare($parameters);
      case 'execute':
        return $this->executeTask($executor, $parameters);
      default:
        throw new ConduitException('ERR-BAD-PHASE');
    }
  }

  private function executeTask($executor, array $parameters) {
    // As in a daemon: no limit, and no end when the caller goes away, since the
    // task would be cut anywhere.
    set_time_limit(0);
    ignore_user_abort(true);

    // What a task prints must not get into the answer.
    $output = '';
    ob_start(
      function ($piece) use (&$output) {
        $room = GorgeWorkerExecuteConduitAPIMethod::MOST_OUTPUT;
        $output .= substr($piece, 0, max(0, $room - strlen($output)));
        return '';
      },
      4096);
    try {
      return $executor->execute($parameters);
    } finally {
      ob_end_clean();
      if ($output !== '') {
        phlog(pht('Task %d printed: %s', $parameters['taskID'], $output));
      }
    }
  }

  private function newTaskSource() {
    if (PhabricatorEnv::getEnvConfig('gorge-worker.require-lease')) {
      return new GorgeWorkerLeasedTaskSource();
    }
    return new GorgeWorkerRequestTaskSource();
  }

  private function requireCaller(PhabricatorUser $user) {
    $callers = PhabricatorEnv::getEnvConfig('gorge-worker.callers');
    if (!in_array($user->getUsername(), $callers, true)) {
      throw new ConduitException('ERR-WORKER-AUTH');
    }
  }

}
