<?php

final class PhabricatorClusterStrandedException extends Exception {}
