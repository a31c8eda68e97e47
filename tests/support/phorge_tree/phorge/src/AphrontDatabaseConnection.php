<?php

final class AphrontDatabaseConnection extends Phobject {

  private $mysqli;
  private $depth = 0;

  public function __construct($database) {
    mysqli_report(MYSQLI_REPORT_OFF);
    $this->mysqli = mysqli_init();
    $connected = @$this->mysqli->real_connect(
      PhabricatorEnv::getEnvConfig('mysql.host'),
      PhabricatorEnv::getEnvConfig('mysql.user'),
      PhabricatorEnv::getEnvConfig('mysql.pass'),
      $database,
      (int)PhabricatorEnv::getEnvConfig('mysql.port'));
    if (!$connected) {
      throw new AphrontConnectionQueryException(
        "Attempt to connect failed: {$this->mysqli->connect_error}.");
    }
    $this->query("SET SESSION sql_mode = 'STRICT_ALL_TABLES'", array());
  }

  public function query($pattern, array $values) {
    $statement = preg_replace_callback(
      '/%([sdT])/',
      function ($found) use (&$values) {
        $value = array_shift($values);
        switch ($found[1]) {
          case 'd':
            return (int)$value;
          case 'T':
            return '`'.$value.'`';
          default:
            return "'".$this->mysqli->real_escape_string($value)."'";
        }
      },
      $pattern);
    $result = $this->mysqli->query($statement);
    if ($result === false) {
      if (in_array($this->mysqli->errno, array(2006, 2013))) {
        throw new AphrontConnectionLostQueryException($this->mysqli->error);
      }
      throw new AphrontQueryException($this->mysqli->error);
    }
    return $result === true ? array() : $result->fetch_all(MYSQLI_ASSOC);
  }

  public function getInsertID() {
    return $this->mysqli->insert_id;
  }

  public function openTransaction() {
    if (!$this->depth++) {
      $this->query('START TRANSACTION', array());
    }
  }

  public function saveTransaction() {
    if (!--$this->depth) {
      $this->query('COMMIT', array());
    }
  }

  public function killTransaction() {
    if (!--$this->depth) {
      $this->query('ROLLBACK', array());
    }
  }

  public function isIdle() {
    return !$this->depth;
  }

  public function close() {
    $this->mysqli->close();
    if ($this->depth) {
      throw new Exception('Process exited with an open transaction!');
    }
  }

}
