<?php

// Part of gorge-worker.

// A process that loads Phorge once and executes one task after the other. The
// worker starts and feeds it; the protocol is described in GorgeWorkerRunner.

if (PHP_VERSION_ID < 70225) {
  echo 'This PHP is '.PHP_VERSION.', and Phorge needs 7.2.25 or later: set '.
    "PHP_BINARY to a newer one.\n";
  exit(1);
}

$gorge_worker_options = getopt(
  '',
  array('root:', 'requests:', 'answers:', 'max-tasks:', 'max-rss:'));

// Phorge looks for arguments of its own.
$argv = $_SERVER['argv'] = array(__FILE__);
$argc = $_SERVER['argc'] = 1;

require_once $gorge_worker_options['root'].'/scripts/init/init-script.php';

require_once __DIR__.'/GorgeWorkerExtensionLoader.php';
require_once __DIR__.'/GorgeWorkerRunnerChannel.php';
require_once __DIR__.'/GorgeWorkerRunnerLimits.php';
require_once __DIR__.'/GorgeWorkerRunner.php';

id(new GorgeWorkerExtensionLoader())->load(
  array(
    'GorgeWorkerFollowups',
    'GorgeWorkerRequestTaskSource',
    'GorgeWorkerTaskExecutor',
  ));

$gorge_worker_limits = new GorgeWorkerRunnerLimits(
  (int)$gorge_worker_options['max-tasks'],
  (int)$gorge_worker_options['max-rss'] * 1048576);

$gorge_worker_channel = new GorgeWorkerRunnerChannel(
  $gorge_worker_options['requests'],
  $gorge_worker_options['answers']);

id(new GorgeWorkerRunner($gorge_worker_channel, $gorge_worker_limits))->run();
