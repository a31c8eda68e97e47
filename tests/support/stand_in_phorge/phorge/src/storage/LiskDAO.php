<?php

/** Connections, and objects that are one row of a table. */
abstract class LiskDAO extends Phobject {

  private static $connections = array();

  private $ephemeral = false;

  protected $id;

  abstract protected function getApplicationName();
  abstract public function getTableName();

  public function establishConnection($mode) {
    $database = pht(
      '%s_%s',
      PhabricatorEnv::getEnvConfig('storage.default-namespace'),
      $this->getApplicationName());

    // Reading within a transaction sees what the transaction has written.
    foreach (array("{$database}:w", "{$database}:{$mode}") as $key) {
      if (isset(self::$connections[$key])) {
        return self::$connections[$key];
      }
    }
    $connection = $this->connect($database);
    self::$connections["{$database}:{$mode}"] = $connection;
    return $connection;
  }

  private function connect($database) {
    if (!PhabricatorEnv::hasDatabase()) {
      throw new Exception(
        pht('No database is configured (while trying "%s").', $database));
    }
    $connection = new AphrontDatabaseConnection($database);
    try {
      $connection->requireLink();
    } catch (AphrontConnectionQueryException $ex) {
      throw new PhabricatorClusterStrandedException(
        pht(
          "Unable to reach any database (while trying \"%s\").\n\n%s: %s",
          $database,
          get_class($ex),
          $ex->getMessage()));
    }
    return $connection;
  }

  public static function closeAllConnections() {
    // They are destroyed when this returns, and complain then.
    $connections = self::$connections;
    foreach ($connections as $key => $connection) {
      self::closeConnection($key);
    }
  }

  public static function closeInactiveConnections($seconds) {
    foreach (self::$connections as $key => $connection) {
      $unused = PhabricatorTime::getNow() - $connection->getLastActiveEpoch();
      if ($connection->isIdle() && $unused > $seconds) {
        self::closeConnection($key);
      }
    }
  }

  private static function closeConnection($key) {
    $connection = self::$connections[$key];
    unset(self::$connections[$key]);
    $connection->close();
  }

  public function openTransaction() {
    $this->establishConnection('w')->openTransaction();
    return $this;
  }

  public function saveTransaction() {
    $this->establishConnection('w')->saveTransaction();
    return $this;
  }

  public function killTransaction() {
    $this->establishConnection('w')->killTransaction();
    return $this;
  }

  public function makeEphemeral() {
    $this->ephemeral = true;
    return $this;
  }

  protected function requireMutable() {
    if ($this->ephemeral) {
      throw new LiskEphemeralObjectException();
    }
  }

  public function load($id) {
    if (!$id) {
      return null;
    }
    $row = queryfx_one(
      $this->establishConnection('r'),
      'SELECT * FROM %T WHERE id = %d',
      $this->getTableName(),
      $id);
    if (!$row) {
      return null;
    }
    foreach ($row as $column => $value) {
      $this->$column = $value;
    }
    return $this;
  }

  protected function insertRow(array $row) {
    $connection = $this->establishConnection('w');
    $columns = implode(', ', array_fill(0, count($row), '%C'));
    $values = implode(', ', array_fill(0, count($row), '%ns'));
    queryfx(
      $connection,
      "INSERT INTO %T ({$columns}) VALUES ({$values})",
      $this->getTableName(),
      ...array_keys($row),
      ...array_values($row));
    return $connection->getInsertID();
  }

  public function setID($id) {
    $this->id = $id;
    return $this;
  }

  public function getID() {
    return $this->id;
  }

  /** Getters and setters of all protected properties. */
  public function __call($method, $arguments) {
    $kind = substr($method, 0, 3);
    $property = $this->findProperty(substr($method, 3));
    if ($property === null || ($kind !== 'get' && $kind !== 'set')) {
      throw new Exception(
        pht('%s has no method "%s".', get_class($this), $method));
    }
    if ($kind === 'get') {
      return $this->$property;
    }
    $this->$property = $arguments[0];
    return $this;
  }

  private function findProperty($name) {
    $class = new ReflectionClass($this);
    $properties = $class->getProperties(ReflectionProperty::IS_PROTECTED);
    foreach ($properties as $property) {
      if (strcasecmp($property->getName(), $name) === 0) {
        return $property->getName();
      }
    }
    return null;
  }

}
