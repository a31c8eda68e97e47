<?php

final class StandInLongLeaseWorker extends StandInWorker {

  public function getRequiredLeaseTime() {
    return phutil_units('24 hours in seconds');
  }

  protected function doWork() {
    $this->note();
  }

}
