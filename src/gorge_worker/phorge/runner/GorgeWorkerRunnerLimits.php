<?php

// Part of gorge-worker.

/** Decides when a runner has done enough, and should be replaced. */
final class GorgeWorkerRunnerLimits extends Phobject {

  /** Seconds, as often as PhabricatorDaemonOverseerModule looks. */
  const CHECK_INTERVAL = 10;

  private $mostTasks;
  private $mostBytes;
  private $tasks = 0;
  private $checked;
  private $configuration;

  public function __construct($most_tasks, $most_bytes) {
    $this->mostTasks = $most_tasks;
    $this->mostBytes = $most_bytes;
    $this->checked = time();
    $this->configuration = $this->loadConfigurationVersion();
  }

  public function countTask() {
    $this->tasks++;
  }

  /** @return string|null Why the runner should be replaced. */
  public function getReasonToRecycle() {
    if ($this->tasks >= $this->mostTasks) {
      return 'tasks';
    }
    if ($this->getResidentBytes() > $this->mostBytes) {
      return 'memory';
    }
    if ($this->hasNewConfiguration()) {
      return 'configuration';
    }
    return null;
  }

  /** @return int Bytes of memory that the process really occupies. */
  public function getResidentBytes() {
    $pages = @file_get_contents('/proc/self/statm');
    if ($pages === false) {
      return memory_get_usage(true);
    }
    return 4096 * (int)idx(explode(' ', $pages), 1);
  }

  private function hasNewConfiguration() {
    if (time() - $this->checked < self::CHECK_INTERVAL) {
      return false;
    }
    $this->checked = time();
    return $this->loadConfigurationVersion() !== $this->configuration;
  }

  private function loadConfigurationVersion() {
    return array($this->loadDatabaseVersion(), $this->loadFileVersions());
  }

  private function loadDatabaseVersion() {
    try {
      $row = queryfx_one(
        id(new PhabricatorConfigEntry())->establishConnection('r'),
        'SELECT MAX(id) version FROM %T',
        id(new PhabricatorConfigTransaction())->getTableName());
    } catch (Exception $ex) {
      // A database that is away has no newer configuration, and tasks that
      // need it say so themselves.
      phlog($ex);
      return idx((array)$this->configuration, 0);
    }
    return $row['version'];
  }

  /** What "bin/config set" writes, and what an upgrade replaces. */
  private function loadFileVersions() {
    $source = phutil_get_library_root('phorge');
    $root = dirname($source);

    $files = array(
      $root.'/conf/local/local.json',
      $root.'/conf/local/ENVIRONMENT',
      $source.'/__phutil_library_map__.php',
      $source.'/extensions',
      phutil_get_library_root('arcanist').'/__phutil_library_map__.php',
    );
    $environment = PhabricatorEnv::getSelectedEnvironmentName();
    if ($environment) {
      $files[] = "{$root}/conf/{$environment}.conf.php";
    }

    clearstatcache();
    $versions = array();
    foreach ($files as $file) {
      $versions[] = file_exists($file) ? filemtime($file) : null;
    }
    return $versions;
  }

}
