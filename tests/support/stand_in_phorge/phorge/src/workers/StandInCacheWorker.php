<?php

/** Notes what the task before it has left in the request's cache. */
final class StandInCacheWorker extends StandInWorker {

  protected function doWork() {
    $this->note(array('found' => PhabricatorCaches::getRequestValue('task')));
    PhabricatorCaches::setRequestValue('task', $this->getCurrentWorkerTaskID());
  }

}
