<?php

require_once __DIR__.'/lib.php';

stand_in_load_phorge();
PhabricatorEnv::initializeScriptEnvironment();
