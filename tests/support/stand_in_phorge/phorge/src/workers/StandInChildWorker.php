<?php

/**
 * Starts a program. Data: "how" (foreground, background), "hangs": whether the
 * task waits then.
 *
 * Its descriptors and its environment are noted.
 */
final class StandInChildWorker extends StandInWorker {

  const SCRIPT = <<<'SH'
exec >"$1"
echo "pid $$"
for one in /proc/$$/fd/*; do echo "fd ${one##*/} $(readlink "$one")"; done
echo
cat /proc/$$/environ
SH;

  protected function doWork() {
    $report = tempnam(sys_get_temp_dir(), 'child');
    $child = sprintf(
      'sh -c %s child %s',
      escapeshellarg(self::SCRIPT),
      escapeshellarg($report));
    $this->run($child);

    list($lines, $environment) = explode("\n\n", file_get_contents($report), 2);
    unlink($report);
    $descriptors = array();
    foreach (explode("\n", $lines) as $line) {
      $words = explode(' ', $line, 3);
      if ($words[0] === 'fd') {
        $descriptors[$words[1]] = idx($words, 2);
      }
    }

    $pid = null;
    if ($this->getOption('how', 'foreground') === 'background') {
      $pid = (int)exec('sleep 60 >/dev/null 2>&1 & echo $!');
    }
    $this->note(
      array(
        'child' => $pid,
        'descriptors' => $descriptors,
        'environment' => explode("\0", rtrim($environment, "\0")),
      ));
    if ($this->getOption('hangs')) {
      $this->hang();
    }
  }

  /** With all descriptors that PHP does not close by itself. */
  private function run($command) {
    $pipes = array();
    $code = proc_close(proc_open($command, array(), $pipes));
    if ($code) {
      throw new Exception("The program has ended with {$code}.");
    }
  }

}
