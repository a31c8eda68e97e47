<?php

final class PhabricatorUser extends Phobject {

  private $username;

  public function setUsername($username) {
    $this->username = $username;
    return $this;
  }

  public function getUsername() {
    return $this->username;
  }

}
