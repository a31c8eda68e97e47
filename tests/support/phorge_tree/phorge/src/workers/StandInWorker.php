<?php

/** Does what its data says: {"do": "...", ...}. */
final class StandInWorker extends PhabricatorWorker {

  public function getRequiredLeaseTime() {
    return idx((array)$this->getTaskData(), 'lease');
  }

  public function getMaximumRetryCount() {
    return 3;
  }

  public function getWaitBeforeRetry(PhabricatorWorkerTask $task) {
    if (idx((array)$this->getTaskData(), 'wait') === 'throw') {
      throw new Exception('no wait');
    }
    return 15 * $task->getFailureCount();
  }

  protected function doWork() {
    $data = $this->getTaskData();
    if (isset($data['log'])) {
      file_put_contents($data['log'], getmypid()."\n", FILE_APPEND);
    }
    $todo = 'do'.idx((array)$data, 'do', 'Nothing');
    $this->$todo((array)$data);
  }

  private function doNothing() {}

  private function doTell(array $data) {
    $task = $this->getCurrentWorkerTask();
    $told = array(
      'data' => $data,
      'id' => $task->getID(),
      'failureCount' => $task->getFailureCount(),
      'priority' => $task->getPriority(),
      'objectPHID' => $task->getObjectPHID(),
      'owner' => $task->getLeaseOwner(),
      'environment' => getenv(),
      'user' => posix_geteuid(),
      'groups' => posix_getgroups(),
      'folder' => getcwd(),
      'stdin' => defined('STDIN') ? stream_get_contents(STDIN) : null,
    );
    file_put_contents($data['file'], json_encode($told));
  }

  private function doPrint(array $data) {
    for ($line = 0; $line < $data['lines']; $line++) {
      echo str_repeat('o', 1023)."\n";
      if (defined('STDOUT')) {
        fwrite(STDOUT, "to STDOUT\n");
        fwrite(STDERR, "to STDERR\n");
      }
    }
    file_put_contents('php://stdout', "{\"id\":1,\"result\":\"failure\"}\n");
  }

  private function doFail() {
    throw new Exception("it failed: \xff");
  }

  private function doError() {
    throw new TypeError('a type error');
  }

  private function doFailSilently() {
    throw new Exception();
  }

  private function doFailForGood() {
    throw new PhabricatorWorkerPermanentFailureException('never again');
  }

  private function doYield(array $data) {
    throw new PhabricatorWorkerYieldException($data['seconds']);
  }

  private function doExit() {
    exit(0);
  }

  private function doRunOutOfMemory() {
    ini_set('memory_limit', '60M');
    for ($all = array();; $all[] = str_repeat('x', 100000)) {
    }
  }

  private function doRedeclare() {
    eval('function id() {}');
  }

  private function doSignal(array $data) {
    posix_kill(posix_getpid(), $data['signal']);
    $this->doHang();
  }

  private function doWait(array $data) {
    while (!file_exists($data['until'])) {
      usleep(20000);
      clearstatcache();
    }
  }

  private function doLimitTime() {
    set_time_limit(1);
  }

  private function doBusy() {
    for ($end = microtime(true) + 1.5; microtime(true) < $end;) {
    }
  }

  private function doHang() {
    while (true) {
      sleep(1);
    }
  }

  private function doHangForGood() {
    pcntl_signal(SIGTERM, SIG_IGN);
    exec('trap "" TERM; sleep 600 > /dev/null 2>&1 & echo started');
    $this->doHang();
  }

  /** Writes down what the program that it starts has got. */
  private function doStart(array $data) {
    $file = escapeshellarg($data['file']);
    exec("ls -l /proc/self/fd > {$file}; env >> {$file}");
  }

  /** Leaves a program behind that holds all that it was given. */
  private function doLeaveBehind(array $data) {
    exec('sleep 600 > /dev/null 2>&1 & echo $!', $printed);
    file_put_contents($data['file'], implode('', $printed));
  }

  private function doQueue(array $data) {
    $this->queueTask('NextWorker', array('key' => 7714163963910349351));
    $this->queueTask(
      'OtherWorker',
      array('uri' => 'http://x/ä'),
      array(
        'priority' => 4000,
        'objectPHID' => 'PHID-OBJ-1',
        'containerPHID' => 'PHID-CON-1',
        'delayUntil' => idx($data, 'until'),
      ));
    $this->queueTask('LastWorker', array(), array('priority' => null));
  }

  private function doQueueNoText() {
    $this->queueTask('NextWorker', array('key' => "\xff"));
  }

  private function doQueueHalf() {
    $this->queueTask('NextWorker', array());
    $this->queueTask(str_repeat('x', 65), array());
  }

  private function doTakeMemory(array $data) {
    static $kept = array();
    $kept[] = str_repeat('x', $data['bytes']);
  }

  private function doLeaveTransaction() {
    id(new PhabricatorWorkerActiveTask())->openTransaction();
    throw new Exception('left a transaction');
  }

  private function doLeaveLock() {
    PhutilLock::lockName('stand-in');
    throw new Exception('left a lock');
  }

  private function doQuery() {
    queryfx_one(
      id(new PhabricatorWorkerActiveTask())->establishConnection('r'),
      'SELECT 1');
  }

  /** What a task would have to do to disturb the protocol. */
  private function doDisturb() {
    foreach (glob('/proc/self/fd/*') as $path) {
      $number = (int)basename($path);
      $stream = $number > 2 ? @fopen("php://fd/{$number}", 'w') : null;
      if ($stream) {
        @fwrite($stream, "no answer\n");
      }
    }
  }

}
