<?php

function id($object) {
  return $object;
}

function idx($array, $key, $default = null) {
  return isset($array[$key]) ? $array[$key] : $default;
}

function coalesce(...$values) {
  foreach ($values as $value) {
    if ($value !== null) {
      return $value;
    }
  }
  return null;
}

function head(array $array) {
  return reset($array);
}

function pht($pattern, ...$values) {
  return $values ? vsprintf($pattern, $values) : $pattern;
}

/** Writes to standard error, as Phorge's error handler does in scripts. */
function phlog($value) {
  if (!($value instanceof Throwable)) {
    error_log('PHLOG: '.var_export($value, true));
    return;
  }
  $messages = array();
  for ($ex = $value; $ex; $ex = $ex->getPrevious()) {
    $messages[] = '('.get_class($ex).') '.$ex->getMessage();
  }
  error_log(
    sprintf(
      'EXCEPTION: %s at [%s:%d]',
      implode(' {>} ', $messages),
      basename($value->getFile()),
      $value->getLine()));
}

function phutil_json_encode($value) {
  $text = json_encode($value);
  if ($text === false) {
    throw new Exception(
      'Failed to JSON encode value: '.json_last_error_msg().'.');
  }
  return $text;
}

function phutil_nonempty_string($value) {
  return is_string($value) && $value !== '';
}

function phutil_microseconds_since($start) {
  return (int)(1000000 * (microtime(true) - $start));
}

function phutil_get_library_root($name) {
  return StandInLibraries::$roots[$name];
}

/** Knows %s, %d and %T, which is all that the product uses. */
function queryfx_all($connection, $pattern, ...$values) {
  return $connection->query($pattern, $values);
}

function queryfx_one($connection, $pattern, ...$values) {
  return head($connection->query($pattern, $values)) ?: null;
}
