<?php

/** Loads the library beside Phorge, then Phorge, without its configuration. */
function stand_in_load_phorge() {
  $arcanist = dirname(__DIR__, 3).'/arcanist';
  $okay = @include_once $arcanist.'/support/init/init-script.php';
  if (!$okay) {
    echo 'FATAL ERROR: Unable to load "arcanist", which has its place in '.
      "{$arcanist}.\n";
    exit(1);
  }

  $source = dirname(__DIR__, 2).'/src';
  require_once $source.'/storage/queryfx.php';
  StandInLibraries::register('phorge', $source);
}
