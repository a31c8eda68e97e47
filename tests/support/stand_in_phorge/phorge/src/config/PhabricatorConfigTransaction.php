<?php

final class PhabricatorConfigTransaction extends PhabricatorConfigDAO {

  public function getTableName() {
    return 'config_transaction';
  }

}
