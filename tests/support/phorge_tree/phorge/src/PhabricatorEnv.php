<?php

final class PhabricatorEnv extends Phobject {

  private static $options;

  public static function initialize() {
    self::$options = array(
      'mysql.host' => null,
      'mysql.port' => null,
      'mysql.user' => null,
      'mysql.pass' => null,
      'storage.default-namespace' => 'phabricator',
      'stand-in.tokens' => array(),
    );
    foreach (StandInLibraries::$extensions as $class) {
      if (is_subclass_of($class, 'PhabricatorApplicationConfigOptions')) {
        foreach (id(new $class())->getOptions() as $option) {
          self::$options[$option->getKey()] = $option->getDefault();
        }
      }
    }
    self::$options = self::loadLocal() + self::$options;

    if (self::$options['mysql.host'] !== null) {
      try {
        id(new PhabricatorConfigEntry())->establishConnection('r');
      } catch (AphrontConnectionQueryException $ex) {
        throw new PhabricatorClusterStrandedException(
          'Unable to establish a connection to any database host.', 0, $ex);
      }
    }
  }

  public static function getEnvConfig($key) {
    if (!array_key_exists($key, self::$options)) {
      throw new Exception("No config value specified for key '{$key}'.");
    }
    return self::$options[$key];
  }

  public static function getSelectedEnvironmentName() {
    return getenv('PHABRICATOR_ENV') ?: null;
  }

  private static function loadLocal() {
    $path = dirname(phutil_get_library_root('phorge')).'/conf/local/local.json';
    if (!file_exists($path)) {
      return array();
    }
    if (!is_readable($path)) {
      throw new Exception(
        "Configuration file \"{$path}\" exists, but could not be read.");
    }
    $options = json_decode(file_get_contents($path), true);
    if (!is_array($options)) {
      throw new Exception(
        "Configuration file \"{$path}\" exists and is readable, but the ".
        'content is not valid JSON.');
    }
    return $options;
  }

}
