<?php

final class ConduitPingConduitAPIMethod extends ConduitAPIMethod {

  public function getAPIMethodName() {
    return 'conduit.ping';
  }

  public function getMethodDescription() {
    return 'Says the name of the host.';
  }

  public function shouldRequireAuthentication() {
    return false;
  }

  protected function defineParamTypes() {
    return array();
  }

  protected function defineReturnType() {
    return 'string';
  }

  protected function execute(ConduitAPIRequest $request) {
    return php_uname('n');
  }

}
