<?php

final class PhutilMissingSymbolException extends Exception {}
