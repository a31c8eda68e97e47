<?php

error_reporting(E_ALL);
ini_set('display_errors', '1');
ini_set('log_errors', '1');
ini_set('error_log', '');
ini_set('memory_limit', '-1');

require_once dirname(__DIR__, 2).'/src/functions.php';
require_once dirname(__DIR__, 2).'/src/loading.php';
