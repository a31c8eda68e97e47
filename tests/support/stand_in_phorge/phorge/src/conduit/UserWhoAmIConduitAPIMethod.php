<?php

final class UserWhoAmIConduitAPIMethod extends ConduitAPIMethod {

  public function getAPIMethodName() {
    return 'user.whoami';
  }

  public function getMethodDescription() {
    return 'Says who is calling.';
  }

  protected function defineParamTypes() {
    return array();
  }

  protected function defineReturnType() {
    return 'dict<string, string>';
  }

  protected function execute(ConduitAPIRequest $request) {
    return array('userName' => $request->getUser()->getUsername());
  }

}
