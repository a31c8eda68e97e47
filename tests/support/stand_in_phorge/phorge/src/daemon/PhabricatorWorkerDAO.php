<?php

abstract class PhabricatorWorkerDAO extends LiskDAO {

  protected function getApplicationName() {
    return 'worker';
  }

}
