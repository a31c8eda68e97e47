<?php

final class PhabricatorConfigTransaction extends LiskDAO {

  protected function getApplicationName() {
    return 'config';
  }

  public function getTableName() {
    return 'config_transaction';
  }

}
