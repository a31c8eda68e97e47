<?php

final class LiskEphemeralObjectException extends Exception {}
