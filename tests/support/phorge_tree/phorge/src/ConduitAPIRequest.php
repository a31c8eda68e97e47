<?php

final class ConduitAPIRequest extends Phobject {

  private $parameters;
  private $user;

  public function __construct(array $parameters, PhabricatorUser $user) {
    $this->parameters = $parameters;
    $this->user = $user;
  }

  public function getValue($key, $default = null) {
    return coalesce(idx($this->parameters, $key), $default);
  }

  public function getAllParameters() {
    return $this->parameters;
  }

  public function getUser() {
    return $this->user;
  }

}
