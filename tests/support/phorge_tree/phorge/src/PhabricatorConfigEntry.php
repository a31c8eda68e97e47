<?php

final class PhabricatorConfigEntry extends LiskDAO {

  protected function getApplicationName() {
    return 'config';
  }

  public function getTableName() {
    return 'config_entry';
  }

}
