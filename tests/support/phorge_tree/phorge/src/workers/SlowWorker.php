<?php

/** Asks for one second, and takes two. */
final class SlowWorker extends PhabricatorWorker {

  public function getRequiredLeaseTime() {
    return 1;
  }

  protected function doWork() {
    sleep(2);
  }

}
