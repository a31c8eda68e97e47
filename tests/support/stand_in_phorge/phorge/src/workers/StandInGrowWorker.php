<?php

/** Data: "bytes" that the process occupies from now on. */
final class StandInGrowWorker extends StandInWorker {

  private static $kept = array();

  protected function doWork() {
    $this->note();
    self::$kept[] = str_repeat('g', $this->getOption('bytes', 1048576));
  }

}
