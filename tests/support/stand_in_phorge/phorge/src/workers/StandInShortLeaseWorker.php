<?php

/** Hangs as long as StandInHangWorker does, and may only for a second. */
final class StandInShortLeaseWorker extends StandInWorker {

  public function getRequiredLeaseTime() {
    return 1;
  }

  protected function doWork() {
    $this->note();
    $this->hang();
  }

}
