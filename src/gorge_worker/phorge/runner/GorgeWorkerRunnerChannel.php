<?php

// Part of gorge-worker.

/**
 * Lines of JSON from and to the worker, through two named pipes.
 *
 * They are opened by name, since only fopen() can have a descriptor closed in
 * the programs that tasks start ("e"): a git that outlives its task must not
 * keep the worker waiting, nor write into the protocol.
 */
final class GorgeWorkerRunnerChannel extends Phobject {

  private $requests;
  private $answers;

  public function __construct($requests, $answers) {
    $this->requests = $this->open($requests, 'rbe');
    $this->answers = $this->open($answers, 'wbe');
  }

  /**
   * Waits for a request.
   *
   * @return array<string, mixed>|null Null when the worker has gone.
   */
  public function receive() {
    $line = fgets($this->requests);
    if ($line === false) {
      return null;
    }
    $request = json_decode($line, true);
    if (!is_array($request)) {
      throw new Exception(pht('The worker sent a line that is no request.'));
    }
    return $request;
  }

  public function send(array $message) {
    // What a task throws may be no UTF-8 at all.
    $flags = JSON_INVALID_UTF8_SUBSTITUTE | JSON_UNESCAPED_SLASHES;
    $line = json_encode($message, $flags);
    if ($line === false) {
      throw new Exception(
        pht('An answer can not be encoded: %s.', json_last_error_msg()));
    }

    $line .= "\n";
    while (strlen($line)) {
      $written = fwrite($this->answers, $line);
      if (!$written) {
        // The worker has gone, and has nobody to wait for this.
        exit(1);
      }
      $line = substr($line, $written);
    }
  }

  private function open($path, $mode) {
    $pipe = fopen($path, $mode);
    if (!$pipe) {
      throw new Exception(pht('Unable to open the pipe "%s".', $path));
    }
    return $pipe;
  }

}
