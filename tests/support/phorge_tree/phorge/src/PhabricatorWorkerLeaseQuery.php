<?php

final class PhabricatorWorkerLeaseQuery extends Phobject {

  public static function getDefaultWaitBeforeRetry() {
    return 300;
  }

  public static function getDefaultLeaseDuration() {
    return 7200;
  }

}
