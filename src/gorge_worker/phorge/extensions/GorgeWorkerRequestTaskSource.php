<?php

// Part of gorge-worker.

/** Believes what the request says: its sender has the task from a queue. */
final class GorgeWorkerRequestTaskSource extends Phobject {

  // NOTE: Phorge includes the files of "src/extensions/" in any order, so that
  // no class here can extend another one of them.

  /**
   * Makes a task that can be executed, and that can not be saved.
   *
   * @param array<string, mixed> $request Keys: taskID, taskClass, data (JSON
   *   text), failureCount, priority, objectPHID, containerPHID, leaseOwner,
   *   leaseExpires (epoch seconds). Only the class is required.
   * @return PhabricatorWorkerActiveTask
   */
  public function newTask(array $request) {
    $now = PhabricatorTime::getNow();
    $expires = idx($request, 'leaseExpires');
    if (!$expires) {
      $expires = $now + PhabricatorWorkerLeaseQuery::getDefaultLeaseDuration();
    }

    $task = id(new PhabricatorWorkerActiveTask())
      ->makeEphemeral()
      ->setTaskClass((string)idx($request, 'taskClass'))
      ->setData($this->decodeData(idx($request, 'data')))
      ->setFailureCount((int)idx($request, 'failureCount'))
      ->setPriority(
        (int)coalesce(
          idx($request, 'priority'),
          PhabricatorWorker::PRIORITY_DEFAULT))
      ->setObjectPHID(idx($request, 'objectPHID'))
      ->setContainerPHID(idx($request, 'containerPHID'))
      ->setLeaseOwner(coalesce(idx($request, 'leaseOwner'), 'gorge-worker'))
      ->setLeaseExpires((int)$expires)
      ->setServerTime($now);

    $id = idx($request, 'taskID');
    if ($id) {
      $task->setID((int)$id);
    }

    return $task;
  }

  /**
   * Data is JSON of any kind: mail, for one, is queued as a bare number, which
   * phutil_json_decode() refuses.
   */
  private function decodeData($text) {
    if ($text === null || $text === '') {
      return null;
    }
    $data = json_decode($text, true);
    if ($data === null && trim($text) !== 'null') {
      throw new PhabricatorWorkerPermanentFailureException(
        pht('The data of the task is not JSON: %s.', json_last_error_msg()));
    }
    return $data;
  }

}
