<?php

function phutil_json_encode($value) {
  $json = @json_encode($value);
  if ($json === false) {
    throw new Exception(
      pht('Failed to JSON encode value: %s.', json_last_error_msg()));
  }
  return $json;
}

function phutil_json_decode($text) {
  $value = @json_decode($text, true);
  if (!is_array($value)) {
    throw new PhutilJSONParserException(
      pht('This is neither an object nor a list: %s.', json_last_error_msg()));
  }
  return $value;
}
