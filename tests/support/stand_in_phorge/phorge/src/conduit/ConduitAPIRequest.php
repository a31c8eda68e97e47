<?php

final class ConduitAPIRequest extends Phobject {

  private $parameters;
  private $user;

  public function __construct(array $parameters) {
    $this->parameters = $parameters;
  }

  public function getValue($key, $default = null) {
    return coalesce(idx($this->parameters, $key), $default);
  }

  public function getAllParameters() {
    return $this->parameters;
  }

  public function setUser(PhabricatorUser $user) {
    $this->user = $user;
    return $this;
  }

  public function getUser() {
    if (!$this->user) {
      throw new Exception('This method does not know its caller.');
    }
    return $this->user;
  }

}
