<?php

/** Task classes that leave a trace of what they have done. */
abstract class StandInWorker extends PhabricatorWorker {

  /**
   * Writes one line of JSON, with the task and the process, to the file that
   * the data or the option "stand-in.record" names.
   */
  final protected function note(array $what = array()) {
    $path = coalesce(
      $this->getOption('file'),
      PhabricatorEnv::getEnvConfig('stand-in.record'));
    if ($path === null) {
      return;
    }
    $line = json_encode(
      array(
        'task' => $this->getCurrentWorkerTaskID(),
        'class' => get_class($this),
        'pid' => getmypid(),
      ) + $what,
      JSON_INVALID_UTF8_SUBSTITUTE);
    file_put_contents($path, $line."\n", FILE_APPEND | LOCK_EX);
  }

  /** A value of the data, which may be anything. */
  final protected function getOption($key, $default = null) {
    $data = $this->getTaskData();
    return is_array($data) ? idx($data, $key, $default) : $default;
  }

  /** Goes on until a file is there, or that many seconds are over. */
  final protected function hang($sleeps = true) {
    $release = $this->getOption('release');
    $end = microtime(true) + $this->getOption('seconds', 60);
    while (microtime(true) < $end) {
      clearstatcache();
      if ($release !== null && file_exists($release)) {
        return;
      }
      if ($sleeps) {
        usleep(5000);
      }
    }
  }

}
