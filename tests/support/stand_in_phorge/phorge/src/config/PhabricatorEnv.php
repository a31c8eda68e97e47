<?php

/** The configuration: what the database, the local file and the options say. */
final class PhabricatorEnv extends Phobject {

  private static $values;

  public static function initializeScriptEnvironment() {
    PhutilServiceProfiler::getInstance()->enableDiscardMode();
    self::initialize();
  }

  public static function initializeWebEnvironment() {
    self::initialize();
  }

  private static function initialize() {
    $local = self::loadLocalFile();
    self::checkVersion(idx($local, 'stand-in.minimum-php'));

    $defaults = PhabricatorApplicationConfigOptions::loadDefaults();
    self::$values = $local + $defaults;
    if (self::hasDatabase()) {
      self::$values = PhabricatorConfigEntry::loadValues() + self::$values;
    }

    $root = dirname(phutil_get_library_root('phorge'));
    putenv(pht('PATH=%s/support/bin:%s', $root, getenv('PATH')));
  }

  public static function getEnvConfig($key) {
    if (self::$values === null) {
      throw new Exception(
        pht('"%s" is read before there is a configuration.', $key));
    }
    if (!array_key_exists($key, self::$values)) {
      throw new Exception(pht('There is no option "%s".', $key));
    }
    return self::$values[$key];
  }

  public static function getSelectedEnvironmentName() {
    $name = getenv('PHABRICATOR_ENV');
    if ($name) {
      return $name;
    }
    $path = self::getFolder().'/ENVIRONMENT';
    return file_exists($path) ? trim(file_get_contents($path)) : false;
  }

  public static function hasDatabase() {
    return self::getEnvConfig('mysql.host') !== null
      || self::getEnvConfig('mysql.port') !== null;
  }

  private static function getFolder() {
    return dirname(phutil_get_library_root('phorge')).'/conf/local';
  }

  private static function loadLocalFile() {
    $path = self::getFolder().'/local.json';
    if (!file_exists($path)) {
      return array();
    }
    $text = @file_get_contents($path);
    if ($text === false) {
      throw new Exception(
        pht('Configuration file "%s" could not be read.', $path));
    }
    try {
      return phutil_json_decode($text);
    } catch (PhutilJSONParserException $ex) {
      throw new Exception(
        pht('Configuration file "%s" is not valid JSON.', $path),
        0,
        $ex);
    }
  }

  private static function checkVersion($minimum) {
    if ($minimum !== null && version_compare(PHP_VERSION, $minimum, '<')) {
      echo pht(
        "UPGRADE PHP: This is PHP %s, and %s or later is needed.\n",
        PHP_VERSION,
        $minimum);
      exit(1);
    }
  }

}
