<?php

/** Data: "stdout", "stderr", "raw" (past PHP's own buffers): how many bytes. */
final class StandInPrintWorker extends StandInWorker {

  protected function doWork() {
    echo str_repeat('o', $this->getOption('stdout', 0));
    $this->write('php://stderr', str_repeat('e', $this->getOption('stderr', 0)));
    $this->write('php://stdout', str_repeat('r', $this->getOption('raw', 0)));
    $this->note();
  }

  private function write($stream, $bytes) {
    $handle = fopen($stream, 'wb');
    while (strlen($bytes)) {
      $bytes = (string)substr($bytes, (int)fwrite($handle, $bytes));
    }
    fclose($handle);
  }

}
