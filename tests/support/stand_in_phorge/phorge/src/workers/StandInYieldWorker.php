<?php

/** Data: "seconds". With "once" naming a file it succeeds when that is there. */
final class StandInYieldWorker extends StandInWorker {

  protected function doWork() {
    $this->note();
    $once = $this->getOption('once');
    if ($once !== null) {
      if (file_exists($once)) {
        return;
      }
      touch($once);
    }
    throw new PhabricatorWorkerYieldException($this->getOption('seconds', 60));
  }

}
