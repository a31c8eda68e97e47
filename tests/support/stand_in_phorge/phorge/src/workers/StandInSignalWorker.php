<?php

/** Data: "signal", a number: SIGSEGV and SIGKILL end PHP without a word. */
final class StandInSignalWorker extends StandInWorker {

  protected function doWork() {
    $this->note();
    posix_kill(getmypid(), $this->getOption('signal', SIGKILL));
  }

}
