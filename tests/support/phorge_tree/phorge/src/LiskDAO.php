<?php

/** Rows as objects: getX() and setX() for each protected property. */
abstract class LiskDAO extends Phobject {

  private static $connections = array();

  protected $id;
  private $isEphemeral = false;

  abstract protected function getApplicationName();
  abstract public function getTableName();

  public function establishConnection($mode) {
    $namespace = PhabricatorEnv::getEnvConfig('storage.default-namespace');
    $database = $namespace.'_'.$this->getApplicationName();
    if (!isset(self::$connections[$database])) {
      self::$connections[$database] = new AphrontDatabaseConnection($database);
    }
    return self::$connections[$database];
  }

  public static function closeAllConnections() {
    $connections = self::$connections;
    self::$connections = array();
    foreach ($connections as $connection) {
      $connection->close();
    }
  }

  public static function closeInactiveConnections($seconds) {
    return;
  }

  public function load($id) {
    $row = queryfx_one(
      $this->establishConnection('r'),
      'SELECT * FROM %T WHERE id = %d',
      $this->getTableName(),
      $id);
    if (!$row) {
      return null;
    }
    foreach ($row as $name => $value) {
      if (property_exists($this, $name)) {
        $this->$name = $value;
      }
    }
    return $this;
  }

  public function makeEphemeral() {
    $this->isEphemeral = true;
    return $this;
  }

  public function save() {
    if ($this->isEphemeral) {
      throw new Exception('This object is ephemeral and can not be saved.');
    }
    return $this->insertRow();
  }

  protected function insertRow() {
    throw new Exception('Rows of '.get_class($this).' are not inserted here.');
  }

  public function openTransaction() {
    $this->establishConnection('w')->openTransaction();
  }

  public function saveTransaction() {
    $this->establishConnection('w')->saveTransaction();
  }

  public function killTransaction() {
    $this->establishConnection('w')->killTransaction();
  }

  public function __call($method, array $arguments) {
    $name = $method === 'setID' || $method === 'getID'
      ? 'id'
      : lcfirst(substr($method, 3));
    if (!property_exists($this, $name)) {
      throw new Exception("Unable to resolve method \"{$method}\".");
    }
    if (strncmp($method, 'set', 3) === 0) {
      $this->$name = $arguments[0];
      return $this;
    }
    return $this->$name;
  }

}
