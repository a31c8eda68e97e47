<?php

// Part of gorge-worker.

final class GorgeWorkerConfigOptions
  extends PhabricatorApplicationConfigOptions {

  public function getName() {
    return pht('Gorge Worker');
  }

  public function getDescription() {
    return pht('Executing tasks for gorge-worker over Conduit.');
  }

  public function getIcon() {
    return 'fa-cogs';
  }

  public function getGroup() {
    return 'core';
  }

  public function getOptions() {
    return array(
      $this->newOption('gorge-worker.callers', 'list<string>', array())
        ->setLocked(true)
        ->setSummary(pht('Accounts that may call "worker.execute".'))
        ->setDescription(
          pht(
            'Usernames of the accounts, normally one bot, that may execute '.
            'queued tasks through Conduit. Empty: nobody may.')),
      $this->newOption('gorge-worker.require-lease', 'bool', true)
        ->setLocked(true)
        ->setBoolOptions(
          array(
            pht('Only tasks that the caller has leased'),
            pht('Any task'),
          ))
        ->setSummary(pht('Execute only tasks of this queue.'))
        ->setDescription(
          pht(
            'Execute only tasks that are in the queue of this install and '.
            'leased by the owner that the caller names. Turn this off only '.
            'if the tasks are kept in another queue: a caller can then have '.
            'any task class executed with any data.')),
    );
  }

}
