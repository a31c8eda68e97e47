<?php

function phlog(...$values) {
  $caller = head(debug_backtrace(DEBUG_BACKTRACE_IGNORE_ARGS));
  foreach ($values as $value) {
    if ($value instanceof Throwable) {
      PhutilErrorHandler::logException($value);
    } else {
      PhutilErrorHandler::log(
        pht('PHLOG: %s', var_export($value, true)),
        $caller['file'],
        $caller['line']);
    }
  }
  return head($values);
}
