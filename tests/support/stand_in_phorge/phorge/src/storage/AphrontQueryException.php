<?php

class AphrontQueryException extends Exception {}
