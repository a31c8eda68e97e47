<?php

/** What is kept as long as one request, or one task, lasts. */
final class PhabricatorCaches extends Phobject {

  private static $requestCache = array();

  public static function setRequestValue($key, $value) {
    self::$requestCache[$key] = $value;
  }

  public static function getRequestValue($key) {
    return idx(self::$requestCache, $key);
  }

  public static function destroyRequestCache() {
    self::$requestCache = array();
    gc_collect_cycles();
  }

}
