<?php

// Queues tasks as Phorge does: {"tasks": [[class, data, options], ...]}, with
// "count" of each (1 unless given). Answers their ids in order.

require_once __DIR__.'/start.php';

$input = suite_input();
$ids = array();
for ($ii = 0; $ii < idx($input, 'count', 1); $ii++) {
  foreach ($input['tasks'] as $spec) {
    list($class, $data, $options) = $spec;
    $ids[] = (int)PhabricatorWorker::scheduleTask($class, $data, $options)
      ->getID();
  }
}
suite_output($ids);
