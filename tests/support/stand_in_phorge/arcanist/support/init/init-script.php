<?php

// Prepares PHP for a script, and loads the library.

while (ob_get_level() > 0) {
  ob_end_clean();
}

error_reporting(E_ALL);
ini_set('display_errors', '1');
ini_set('log_errors', '1');
ini_set('error_log', '');
ini_set('memory_limit', '-1');
ini_set('zend.exception_ignore_args', '0');

require_once dirname(__DIR__, 2).'/src/init/init-library.php';

PhutilErrorHandler::initialize();

// Nobody dispatches signals here: the handler only runs in a script, or a task,
// that turns this on.
if (function_exists('pcntl_signal')) {
  pcntl_signal(
    SIGTERM,
    function ($number) {
      exit(128 + $number);
    });
}

return true;
