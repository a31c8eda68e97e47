<?php

/**
 * Data: "how", "seconds" at most, "release": a file that ends it.
 *
 * As in Phorge's scripts SIGTERM waits for somebody to ask for it, so that only
 * "polite" ends by it, "sleep" and "busy" do not notice, and "stubborn" has it
 * ignored.
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
