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
      if ((int)$number > 2 && $this->isPipe("/proc/self/fd/{$number}")) {
        $handle = fopen("php://fd/{$number}", 'ab');
        // One of them is there to be read, and refuses.
        @fwrite($handle, "garbage\n");
      }
    }
  }

  private function isPipe($path) {
    // The listing has a descriptor of its own, which is gone by now.
    $stat = @stat($path);
    return ($stat && ($stat['mode'] & 0170000) === 0010000);
  }

}
