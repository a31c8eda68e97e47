<?php

final class StandInLibraries {

  public static $roots = array();
  public static $extensions = array();

  public static function load($name, $root) {
    self::$roots[$name] = $root;
    foreach (glob($root.'/extensions/*.php') as $extension) {
      self::loadExtension($extension);
    }
  }

  public static function find($class) {
    foreach (self::$roots as $root) {
      foreach (array('', '/workers') as $folder) {
        $path = "{$root}{$folder}/{$class}.php";
        if (is_file($path)) {
          return $path;
        }
      }
    }
    return null;
  }

  /** Phorge does not start with an extension that is faulty. */
  private static function loadExtension($path) {
    $old_classes = get_declared_classes();
    $old_error = error_get_last();
    try {
      include_once $path;
    } catch (ParseError $ex) {
      throw new Exception("ParseError: {$ex->getMessage()} in {$path}");
    }
    $error = error_get_last();
    if ($error !== $old_error) {
      throw new Exception(
        "Error while loading file \"{$path}\": {$error['message']}");
    }
    $added = array_diff(get_declared_classes(), $old_classes);
    self::$extensions = array_merge(self::$extensions, array_values($added));
  }

}

// Like __phutil_autoload(): throws for a class that nobody knows, unless the
// question is whether there is such a class.
spl_autoload_register(function ($class) {
  $path = StandInLibraries::find($class);
  if ($path !== null) {
    require_once $path;
    return;
  }
  foreach (debug_backtrace() as $frame) {
    if (in_array($frame['function'], array('class_exists', 'method_exists'))) {
      return;
    }
  }
  throw new PhutilMissingSymbolException(
    "Class \"{$class}\" is in no loaded library.");
});

set_exception_handler(function ($ex) {
  phlog($ex);
  exit(255);
});
