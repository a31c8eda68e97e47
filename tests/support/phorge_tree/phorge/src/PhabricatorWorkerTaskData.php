<?php

final class PhabricatorWorkerTaskData extends LiskDAO {

  protected $data;

  protected function getApplicationName() {
    return 'worker';
  }

  public function getTableName() {
    return 'worker_taskdata';
  }

  public function load($id) {
    $loaded = parent::load($id);
    if ($loaded) {
      $this->data = json_decode($this->data, true);
    }
    return $loaded;
  }

}
