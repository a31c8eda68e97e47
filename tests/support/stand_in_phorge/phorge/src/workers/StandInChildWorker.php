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
ls -l /proc/$$/fd
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
    $matches = null;
    preg_match_all('/ (\d+) -> (.+)$/m', $lines, $matches);
    $descriptors = array_combine($matches[1], $matches[2]);

    $pid = null;
    if ($this->getOption('how', 'foreground') === 'background') {
      $pid = (int)exec('sleep 60 >/dev/null 2>&1 & echo $!');
    }
    $this->note(
      array(
        'child' => $pid,
        'descriptors' => (object)$descriptors,
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
