<?php

/**
 * Data: "how" (sleep, busy, stubborn: ignores SIGTERM, polite: ends at SIGTERM),
 * "seconds" at most, "release": a file that ends it.
 */
final class StandInHangWorker extends StandInWorker {

  protected function doWork() {
    $how = $this->getOption('how', 'sleep');
    if ($how === 'stubborn') {
      pcntl_signal(SIGTERM, SIG_IGN);
    }
    $was_async = pcntl_async_signals($how === 'polite');
    $this->note(array('state' => 'hangs'));
    $this->hang($how !== 'busy');
    pcntl_async_signals($was_async);
    $this->note(array('state' => 'done'));
  }

}
