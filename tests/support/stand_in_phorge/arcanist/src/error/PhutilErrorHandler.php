<?php

/** Makes exceptions of PHP's errors, and one line of an exception. */
final class PhutilErrorHandler {

  public static function initialize() {
    set_error_handler(array(__CLASS__, 'handleError'));
    set_exception_handler(array(__CLASS__, 'handleException'));
  }

  public static function handleError($number, $text, $file, $line) {
    if (!(error_reporting() & $number)) {
      return false;
    }
    $logged = array(E_USER_ERROR, E_USER_WARNING, E_USER_NOTICE, E_DEPRECATED);
    if (!in_array($number, $logged, true)) {
      throw new RuntimeException($text);
    }
    self::log(pht('ERROR %d: %s', $number, $text), $file, $line);
    return true;
  }

  public static function handleException($ex) {
    self::logException($ex);
    // PHP would end with 0.
    exit(255);
  }

  public static function logException(Throwable $ex) {
    $parts = array();
    for ($current = $ex; $current; $current = $current->getPrevious()) {
      $parts[] = pht('(%s) %s', get_class($current), $current->getMessage());
      $root = $current;
    }
    $parts = substr(implode(' {>} ', $parts), 0, 4096);
    self::log('EXCEPTION: '.$parts, $root->getFile(), $root->getLine());
    foreach (explode("\n", $ex->getTraceAsString()) as $frame) {
      error_log('  '.$frame);
    }
  }

  public static function log($message, $file, $line) {
    error_log(
      pht('[%s] %s at [%s:%d]', date('Y-m-d H:i:s'), $message, $file, $line));
  }

}
