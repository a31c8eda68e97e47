<?php

abstract class PhabricatorConfigDAO extends LiskDAO {

  protected function getApplicationName() {
    return 'config';
  }

}
