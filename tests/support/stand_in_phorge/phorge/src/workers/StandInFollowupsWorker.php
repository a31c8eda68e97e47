<?php

/**
 * Data: "followups", each a list of class, data and options. With "broken" there
 * is one more, whose data is no UTF-8.
 */
final class StandInFollowupsWorker extends StandInWorker {

  protected function doWork() {
    $this->note();
    foreach ($this->getOption('followups', array()) as $followup) {
      $this->queueTask(...$followup);
    }
    if ($this->getOption('broken')) {
      $this->queueTask('StandInSucceedWorker', array('bytes' => "\xFF"));
    }
  }

}
