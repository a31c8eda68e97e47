<?php

final class PhabricatorWorkerLeaseQuery extends Phobject {

  public static function getDefaultLeaseDuration() {
    return phutil_units('2 hours in seconds');
  }

  public static function getDefaultWaitBeforeRetry() {
    return phutil_units('5 minutes in seconds');
  }

}
