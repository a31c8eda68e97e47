<?php

abstract class PhabricatorApplicationConfigOptions extends Phobject {

  abstract public function getOptions();

  final protected function newOption($key, $type, $default) {
    return new PhabricatorConfigOption($key, $type, $default);
  }

}
