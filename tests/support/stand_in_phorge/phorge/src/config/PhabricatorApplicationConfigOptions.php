<?php

abstract class PhabricatorApplicationConfigOptions extends Phobject {

  abstract public function getName();
  abstract public function getDescription();
  abstract public function getGroup();
  abstract public function getOptions();

  final protected function newOption($key, $type, $default) {
    return new PhabricatorConfigOption($key, $default);
  }

  /** @return array<string, mixed> Of all options, the extensions' included. */
  final public static function loadDefaults() {
    $defaults = array();
    $groups = StandInLibraries::newSubclasses(__CLASS__, 'ConfigOptions');
    foreach ($groups as $group) {
      foreach ($group->getOptions() as $option) {
        if (array_key_exists($option->getKey(), $defaults)) {
          throw new Exception(
            pht('Two groups have an option "%s".', $option->getKey()));
        }
        $defaults[$option->getKey()] = $option->getDefault();
      }
    }
    return $defaults;
  }

}
