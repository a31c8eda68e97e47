<?php

// Loads the copy of Phorge that SUITE_PHORGE names, and reads what the script
// was given, a JSON object on standard input.

require_once getenv('SUITE_PHORGE').'/scripts/init/init-script.php';

function suite_input() {
  return phutil_json_decode(stream_get_contents(STDIN));
}

function suite_output(array $output) {
  echo phutil_json_encode($output)."\n";
}

function suite_user($name) {
  return id(new PhabricatorPeopleQuery())
    ->setViewer(PhabricatorUser::getOmnipotentUser())
    ->withUsernames(array($name))
    ->executeOne();
}
