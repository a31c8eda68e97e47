<?php

final class PhutilJSONParserException extends Exception {}
