<?php

final class AphrontConnectionLostQueryException extends AphrontQueryException {}
