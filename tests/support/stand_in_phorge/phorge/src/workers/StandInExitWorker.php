<?php

/** Data: "code", or "message" for die(). */
final class StandInExitWorker extends StandInWorker {

  protected function doWork() {
    $this->note();
    $message = $this->getOption('message');
    if ($message !== null) {
      die($message);
    }
    exit($this->getOption('code', 0));
  }

}
