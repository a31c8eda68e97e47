<?php

/** Data: "kind" (exception, error, type, undefined, bytes), "message". */
final class StandInFailWorker extends StandInWorker {

  protected function doWork() {
    $this->note();
    $message = $this->getOption('message', 'The task has failed.');
    switch ($this->getOption('kind', 'exception')) {
      case 'exception':
        throw new Exception($message);
      case 'error':
        throw new Error($message);
      case 'type':
        return head('no list');
      case 'undefined':
        return stand_in_has_no_such_function();
      case 'bytes':
        throw new Exception("No UTF-8: \xFF\xFE");
    }
  }

}
