<?php

final class PhabricatorTime extends Phobject {

  public static function getNow() {
    return time();
  }

}
