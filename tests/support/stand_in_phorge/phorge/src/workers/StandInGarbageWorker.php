<?php

/**
 * Writes garbage to every pipe among the descriptors above 2: this process's,
 * or, with "child", those that a program inherits.
 */
final class StandInGarbageWorker extends StandInWorker {

  protected function doWork() {
    $this->note();
    if ($this->getOption('child')) {
      $pipes = array();
      $script = 'for one in /proc/$$/fd/*; do n=${one##*/}; '.
        'if [ "$n" -gt 2 ] && [ -p "$one" ]; then echo garbage >"$one"; fi; done';
      proc_close(proc_open($script, array(), $pipes));
      return;
    }
    foreach (scandir('/proc/self/fd') as $number) {
      $path = "/proc/self/fd/{$number}";
      if ((int)$number > 2 && @filetype((string)@readlink($path)) === 'fifo') {
        $handle = @fopen("php://fd/{$number}", 'ab');
        if ($handle) {
          @fwrite($handle, "garbage\n");
        }
      }
    }
  }

}
