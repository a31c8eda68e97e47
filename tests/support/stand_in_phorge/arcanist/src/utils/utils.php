<?php

function id($value) {
  return $value;
}

function idx(array $map, $key, $default = null) {
  return array_key_exists($key, $map) ? $map[$key] : $default;
}

function coalesce(...$values) {
  foreach ($values as $value) {
    if ($value !== null) {
      return $value;
    }
  }
  return null;
}

function head(array $list) {
  return reset($list);
}

function newv($class, array $arguments) {
  return new $class(...$arguments);
}

function pht($text, ...$values) {
  return $values ? vsprintf($text, $values) : $text;
}

function phutil_nonempty_string($value) {
  if ($value !== null && !is_string($value)) {
    throw new InvalidArgumentException(
      pht('This is neither a string nor null, but: %s.', gettype($value)));
  }
  return ($value !== null && $value !== '');
}

function phutil_microseconds_since($start) {
  if (!is_float($start)) {
    throw new Exception('A start is what "microtime(true)" has answered.');
  }
  return (int)(1000000 * (microtime(true) - $start));
}

function phutil_units($description) {
  $seconds = array('second' => 1, 'minute' => 60, 'hour' => 3600, 'day' => 86400);
  $matches = null;
  $pattern = '/^(\d+) (second|minute|hour|day)s? in seconds$/';
  if (!preg_match($pattern, $description, $matches)) {
    throw new InvalidArgumentException(
      pht('Nobody knows how much "%s" is.', $description));
  }
  return (int)$matches[1] * $seconds[$matches[2]];
}
