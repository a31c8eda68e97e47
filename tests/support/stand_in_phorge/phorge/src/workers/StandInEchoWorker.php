<?php

/** Notes what it was given, data as Base64 of JSON. */
final class StandInEchoWorker extends StandInWorker {

  protected function doWork() {
    $task = $this->getCurrentWorkerTask();
    $data = json_encode(
      $this->getTaskData(),
      JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE
        | JSON_PRESERVE_ZERO_FRACTION);
    $this->note(
      array(
        'data' => base64_encode($data),
        'failureCount' => $task->getFailureCount(),
        'priority' => $task->getPriority(),
        'objectPHID' => $task->getObjectPHID(),
        'containerPHID' => $task->getContainerPHID(),
        'leaseOwner' => $task->getLeaseOwner(),
        'leaseExpires' => $task->getLeaseExpires(),
      ));
  }

}
