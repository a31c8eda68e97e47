<?php

final class StandInConfigOptions extends PhabricatorApplicationConfigOptions {

  public function getName() {
    return 'Stand-in';
  }

  public function getDescription() {
    return 'What the stand-in reads.';
  }

  public function getGroup() {
    return 'core';
  }

  public function getOptions() {
    return array(
      $this->newOption('mysql.host', 'string', null),
      $this->newOption('mysql.port', 'string', null),
      $this->newOption('mysql.user', 'string', 'root'),
      $this->newOption('mysql.pass', 'string', ''),
      $this->newOption('storage.default-namespace', 'string', 'phabricator'),
      $this->newOption('stand-in.minimum-php', 'string', null),
      $this->newOption('stand-in.record', 'string', null),
      $this->newOption('stand-in.tokens', 'map<string, string>', array()),
    );
  }

}
