<?php

function queryfx(AphrontDatabaseConnection $connection, $pattern, ...$values) {
  $connection->executeQuery(
    stand_in_format_query($connection, $pattern, $values));
}

function queryfx_all(AphrontDatabaseConnection $connection, ...$query) {
  queryfx($connection, ...$query);
  return $connection->selectAllResults();
}

function queryfx_one(AphrontDatabaseConnection $connection, ...$query) {
  $rows = queryfx_all($connection, ...$query);
  if (count($rows) > 1) {
    throw new AphrontCountQueryException('The query has more than one row.');
  }
  return $rows ? head($rows) : null;
}

function stand_in_format_query($connection, $pattern, array $values) {
  $format = function ($match) use ($connection, &$values) {
    if ($match[0] === '%%') {
      return '%';
    }
    if (!$values) {
      throw new Exception('The query has fewer values than it needs.');
    }
    $value = array_shift($values);
    switch ($match[0]) {
      case '%T':
      case '%C':
        return '`'.str_replace('`', '``', $value).'`';
      case '%Ld':
        return implode(', ', array_map('intval', $value));
      case '%nd':
        return ($value === null) ? 'NULL' : (string)(int)$value;
      case '%ns':
        return ($value === null)
          ? 'NULL'
          : "'".$connection->escape($value)."'";
      case '%d':
        return (string)(int)$value;
      case '%s':
        return "'".$connection->escape($value)."'";
    }
  };
  $query = preg_replace_callback('/%(?:[TCsd%]|n[sd]|Ld)/', $format, $pattern);
  if ($values) {
    throw new Exception('The query has more values than it needs.');
  }
  return $query;
}
