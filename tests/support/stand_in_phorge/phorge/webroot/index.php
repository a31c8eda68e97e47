<?php

// Answers every request: "php -S 127.0.0.1:<port> index.php".

require_once dirname(__DIR__).'/scripts/init/lib.php';

stand_in_load_phorge();
ini_set('display_errors', '0');

// A fatal error leaves nothing of what was to be answered.
register_shutdown_function(
  function () {
    $error = error_get_last();
    if ($error && ($error['type'] & (E_ERROR | E_COMPILE_ERROR))) {
      while (ob_get_level() > 0) {
        ob_end_clean();
      }
      http_response_code(500);
      header('Content-Type: text/plain; charset=utf-8');
      echo 'FATAL: '.$error['message'];
    }
  });

ob_start();
try {
  PhabricatorEnv::initializeWebEnvironment();
  $stand_in_path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
  $stand_in_match = null;
  if (!preg_match('(^/api/([^/]+)$)', $stand_in_path, $stand_in_match)) {
    http_response_code(404);
    header('Content-Type: text/html; charset=utf-8');
    echo '<h1>404 Not Found</h1>';
    exit;
  }
  $stand_in_answer = id(new StandInConduitController())
    ->handle($stand_in_match[1]);
  $stand_in_json = phutil_json_encode($stand_in_answer);
  ob_end_clean();
  header('Content-Type: application/json');
  setcookie('phsid', 'A/stand-in');
  echo $stand_in_json;
} catch (Throwable $stand_in_ex) {
  phlog($stand_in_ex);
  ob_end_clean();
  http_response_code(500);
  header('Content-Type: text/html; charset=utf-8');
  echo '<h1>Unhandled Exception ("'.get_class($stand_in_ex).'")</h1>';
  echo '<p>'.htmlspecialchars($stand_in_ex->getMessage()).'</p>';
}
