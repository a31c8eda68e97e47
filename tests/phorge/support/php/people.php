<?php

// Creates accounts: {"accounts": {name: {"admin": bool, "bot": bool}}}.
// Answers, by name, each one's PHID and a Conduit token.

require_once __DIR__.'/start.php';

$actor = PhabricatorUser::getOmnipotentUser();
$made = array();
foreach (idx(suite_input(), 'accounts') as $name => $flags) {
  $user = id(new PhabricatorUser())
    ->setUsername($name)
    ->setRealName($name)
    ->setIsApproved(1)
    ->setIsSystemAgent((int)idx($flags, 'bot'));
  $email = id(new PhabricatorUserEmail())
    ->setAddress($name.'@mail.invalid')
    ->setIsVerified(1);
  id(new PhabricatorUserEditor())
    ->setActor($actor)
    ->createNewUser($user, $email);
  if (idx($flags, 'admin')) {
    $user->setIsAdmin(1)->save();
  }

  $token = PhabricatorConduitToken::initializeNewToken(
    $user->getPHID(),
    PhabricatorConduitToken::TYPE_STANDARD);
  $token->save();

  $made[$name] = array(
    'phid' => $user->getPHID(),
    'token' => $token->getToken(),
  );
}
suite_output($made);
