<?php

// Awakens yielded tasks as Phorge does: {"ids": [id, ...]}.

require_once __DIR__.'/start.php';

PhabricatorWorker::awakenTaskIDs(idx(suite_input(), 'ids'));
suite_output(array());
