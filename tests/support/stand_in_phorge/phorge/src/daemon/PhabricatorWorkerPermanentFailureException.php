<?php

final class PhabricatorWorkerPermanentFailureException extends Exception {}
