<?php

// Logs somebody in: {"name": username}. Answers the cookies of the session.

require_once __DIR__.'/start.php';

$user = suite_user(idx(suite_input(), 'name'));
$key = id(new PhabricatorAuthSessionEngine())->establishSession(
  PhabricatorAuthSession::TYPE_WEB,
  $user->getPHID(),
  $partial = false);
suite_output(array('phusr' => $user->getUsername(), 'phsid' => $key));
