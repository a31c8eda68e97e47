<?php

// Has every change of any object sent somewhere: {"name": username, "uri": to}.

require_once __DIR__.'/start.php';

$input = suite_input();
$hook = HeraldWebhook::initializeNewWebhook(suite_user($input['name']))
  ->setName('suite')
  ->setWebhookURI($input['uri'])
  ->setStatus(HeraldWebhook::HOOKSTATUS_FIREHOSE)
  ->save();
suite_output(array('phid' => $hook->getPHID()));
