<?php

// Answers calls of Conduit, for PHP's own web server.

require_once dirname(__DIR__).'/scripts/init/init-script.php';
ini_set('display_errors', '0');

function stand_in_answer($result, $code = null, $info = null) {
  header('Content-Type: application/json');
  echo json_encode(
    array('result' => $result, 'error_code' => $code, 'error_info' => $info));
  exit(0);
}

$path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
$parameters = json_decode(idx($_POST, 'params', ''), true);
if (!is_array($parameters)) {
  stand_in_answer(null, 'ERR-CONDUIT-CORE', 'No "params" were sent.');
}

$token = idx(idx($parameters, '__conduit__', array()), 'token', '');
unset($parameters['__conduit__']);

$name = substr($path, strlen('/api/'));
$method = ConduitAPIMethod::getConduitMethod($name);
if (!$method) {
  stand_in_answer(
    null,
    'ERR-CONDUIT-CALL',
    "Conduit API method \"{$name}\" does not exist.");
}

$unknown = array_diff_key($parameters, $method->getParamTypes());
if ($unknown) {
  stand_in_answer(
    null,
    'ERR-CONDUIT-CALL',
    "API Method \"{$name}\" does not define these parameters: '".
      implode("', '", array_keys($unknown))."'.");
}

$username = idx(PhabricatorEnv::getEnvConfig('stand-in.tokens'), $token);
if ($username === null) {
  stand_in_answer(
    null,
    'ERR-INVALID-AUTH',
    "API token \"{$token}\" has the wrong length.");
}

try {
  $request = new ConduitAPIRequest($parameters, new PhabricatorUser($username));
  $result = $method->executeMethod($request);
} catch (ConduitException $ex) {
  $code = $ex->getMessage();
  $info = $ex->getErrorDescription() ?: $method->getErrorDescription($code);
  stand_in_answer(null, $code, $info);
} catch (Exception $ex) {
  phlog($ex);
  stand_in_answer(null, 'ERR-CONDUIT-CORE', $ex->getMessage());
}
stand_in_answer($result);
