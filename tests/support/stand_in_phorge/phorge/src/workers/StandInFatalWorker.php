<?php

/** Ends PHP by an error that no catch gets. Data: "kind". */
final class StandInFatalWorker extends StandInWorker {

  protected function doWork() {
    $this->note();
    switch ($this->getOption('kind', 'memory')) {
      case 'memory':
        ini_set('memory_limit', memory_get_usage(true) + 8 * 1048576);
        return str_repeat('m', 64 * 1048576);
      case 'redeclare':
        return eval('function id($value) {}');
      case 'inheritance':
        return eval('final class StandInChild extends StandInFatalWorker {}');
    }
  }

}
