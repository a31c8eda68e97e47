<?php

final class PhabricatorWorkerTaskData extends PhabricatorWorkerDAO {

  protected $data;

  public function getTableName() {
    return 'worker_taskdata';
  }

  public function load($id) {
    $found = parent::load($id);
    if ($found) {
      $this->data = json_decode($this->data, true);
    }
    return $found;
  }

  public function save() {
    $this->setID(
      $this->insertRow(array('data' => phutil_json_encode($this->data))));
    return $this;
  }

}
