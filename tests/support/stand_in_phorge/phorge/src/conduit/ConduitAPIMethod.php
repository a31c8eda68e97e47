<?php

abstract class ConduitAPIMethod extends Phobject {

  const METHOD_STATUS_STABLE = 'stable';
  const METHOD_STATUS_UNSTABLE = 'unstable';

  const SCOPE_NEVER = 'scope.never';
  const SCOPE_ALWAYS = 'scope.always';

  abstract public function getAPIMethodName();
  abstract public function getMethodDescription();
  abstract protected function defineParamTypes();
  abstract protected function defineReturnType();
  abstract protected function execute(ConduitAPIRequest $request);

  protected function defineErrorTypes() {
    return array();
  }

  public function getMethodStatus() {
    return self::METHOD_STATUS_STABLE;
  }

  public function isInternalAPI() {
    return false;
  }

  public function getRequiredScope() {
    return self::SCOPE_NEVER;
  }

  public function shouldRequireAuthentication() {
    return true;
  }

  final public function getParamTypes() {
    return $this->defineParamTypes();
  }

  final public function getErrorDescription($code) {
    return idx($this->defineErrorTypes(), $code, 'Unknown Error');
  }

  final public function executeMethod(ConduitAPIRequest $request) {
    return $this->execute($request);
  }

}
