<?php

/** A connection that is opened when it is first needed. */
final class AphrontDatabaseConnection extends Phobject {

  private $database;
  private $link;
  private $result;
  private $state;
  private $lastActiveEpoch;

  public function __construct($database) {
    $this->database = $database;
    $this->state = new AphrontDatabaseTransactionState();
    $this->lastActiveEpoch = time();
  }

  public function __destruct() {
    $this->close();
  }

  public function getLastActiveEpoch() {
    return $this->lastActiveEpoch;
  }

  public function isIdle() {
    return !$this->isInsideTransaction();
  }

  public function isInsideTransaction() {
    return ($this->state->getDepth() > 0);
  }

  public function openTransaction() {
    $this->executeQuery(
      $this->isInsideTransaction()
        ? 'SAVEPOINT '.$this->state->getSavepointName()
        : 'START TRANSACTION');
    $this->state->enter();
  }

  public function saveTransaction() {
    if ($this->state->leave() === 0) {
      $this->executeQuery('COMMIT');
    }
  }

  public function killTransaction() {
    $depth = $this->state->leave();
    $this->executeQuery(
      $depth
        ? 'ROLLBACK TO SAVEPOINT '.$this->state->getSavepointName()
        : 'ROLLBACK');
  }

  public function getInsertID() {
    return $this->link->insert_id;
  }

  public function selectAllResults() {
    return $this->result->fetch_all(MYSQLI_ASSOC);
  }

  public function escape($value) {
    return $this->requireLink()->real_escape_string($value);
  }

  public function close() {
    $this->result = null;
    if ($this->link) {
      $this->link->close();
      $this->link = null;
    }
  }

  /** Connects again if the connection was lost, unless a transaction was too. */
  public function executeQuery($query) {
    $this->lastActiveEpoch = time();
    for ($left = 2; ; $left--) {
      try {
        $this->result = $this->requireLink()->query($query);
        if ($this->result !== false) {
          return;
        }
        $this->throwError($this->link->errno, $this->link->error);
      } catch (AphrontConnectionLostQueryException $ex) {
        $can_repeat = ($left && !$this->isInsideTransaction());
        $this->state->forget();
        $this->close();
        if (!$can_repeat) {
          throw $ex;
        }
      }
    }
  }

  public function requireLink() {
    if (!$this->link) {
      $this->link = $this->connect();
    }
    return $this->link;
  }

  private function connect() {
    mysqli_report(MYSQLI_REPORT_OFF);
    $host = coalesce(PhabricatorEnv::getEnvConfig('mysql.host'), '127.0.0.1');
    $user = PhabricatorEnv::getEnvConfig('mysql.user');
    $link = mysqli_init();
    $okay = @$link->real_connect(
      $host,
      $user,
      PhabricatorEnv::getEnvConfig('mysql.pass'),
      $this->database,
      (int)PhabricatorEnv::getEnvConfig('mysql.port'));
    if (!$okay) {
      $this->throwError(
        $link->connect_errno,
        $link->connect_error,
        pht('Attempt to connect to %s@%s failed with error', $user, $host));
    }
    $link->set_charset('utf8mb4');
    return $link;
  }

  private function throwError($number, $error, $connecting = null) {
    $message = pht('#%d: %s', $number, $error);
    if ($number === 2006 || $number === 2013) {
      throw new AphrontConnectionLostQueryException($message);
    }
    if ($number === 1049 || $number === 1054 || $number === 1146) {
      throw new AphrontSchemaQueryException($message);
    }
    if ($connecting) {
      throw new AphrontConnectionQueryException(
        $connecting.' '.$message,
        $number);
    }
    throw new AphrontQueryException($message, $number);
  }

}
