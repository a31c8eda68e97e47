<?php

final class PhabricatorConfigEntry extends PhabricatorConfigDAO {

  public function getTableName() {
    return 'config_entry';
  }

  /** @return array<string, mixed> What the web interface has configured. */
  public static function loadValues() {
    $entry = new self();
    try {
      $rows = queryfx_all(
        $entry->establishConnection('r'),
        'SELECT configKey, value FROM %T WHERE namespace = %s AND isDeleted = 0',
        $entry->getTableName(),
        'default');
    } catch (AphrontSchemaQueryException $ex) {
      // As long as "bin/storage upgrade" has not been run.
      return array();
    }

    $values = array();
    foreach ($rows as $row) {
      $values[$row['configKey']] = json_decode($row['value'], true);
    }
    return $values;
  }

}
