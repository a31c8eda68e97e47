<?php

ini_set(
  'include_path',
  ini_get('include_path').PATH_SEPARATOR.dirname(__DIR__, 3));

if (!@include_once 'arcanist/support/init/init-script.php') {
  echo "FATAL ERROR: Unable to load the \"Arcanist\" library.\n";
  exit(1);
}

StandInLibraries::load('arcanist', dirname(__DIR__, 3).'/arcanist/src');
StandInLibraries::load('phorge', dirname(__DIR__, 2).'/src');
PhabricatorEnv::initialize();
