<?php

require_once __DIR__.'/StandInLibraries.php';
require_once __DIR__.'/PhutilMissingSymbolException.php';

function __phutil_autoload($class) {
  if (StandInLibraries::loadClass($class)) {
    return;
  }

  // Whoever only asks whether there is such a class gets an answer.
  $asks = array(
    'class_exists' => true,
    'interface_exists' => true,
    'method_exists' => true,
    'property_exists' => true,
    'trait_exists' => true,
  );
  foreach (debug_backtrace(DEBUG_BACKTRACE_IGNORE_ARGS) as $frame) {
    if (isset($asks[$frame['function']])) {
      return;
    }
  }

  $loaders = spl_autoload_functions();
  if (end($loaders) === __FUNCTION__) {
    throw new PhutilMissingSymbolException($class);
  }
}

function phutil_get_library_root($library) {
  return StandInLibraries::getRoot($library);
}

require_once dirname(__DIR__).'/utils/utils.php';
require_once dirname(__DIR__).'/utils/json.php';
require_once dirname(__DIR__).'/error/phlog.php';

spl_autoload_register('__phutil_autoload');

StandInLibraries::register('arcanist', dirname(__DIR__));
