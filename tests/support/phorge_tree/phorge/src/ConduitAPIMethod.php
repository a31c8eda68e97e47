<?php

abstract class ConduitAPIMethod extends Phobject {

  const METHOD_STATUS_UNSTABLE = 'unstable';
  const SCOPE_NEVER = 'scope.never';

  abstract public function getAPIMethodName();
  abstract protected function defineParamTypes();
  abstract protected function execute(ConduitAPIRequest $request);

  protected function defineErrorTypes() {
    return array();
  }

  public function shouldRequireAuthentication() {
    return true;
  }

  public function getParamTypes() {
    return $this->defineParamTypes();
  }

  public function getErrorDescription($code) {
    return idx($this->defineErrorTypes(), $code, 'Unknown Error');
  }

  public function executeMethod(ConduitAPIRequest $request) {
    return $this->execute($request);
  }

  public static function getConduitMethod($name) {
    foreach (StandInLibraries::$extensions as $class) {
      if (is_subclass_of($class, 'ConduitAPIMethod')) {
        $method = new $class();
        if ($method->getAPIMethodName() === $name) {
          return $method;
        }
      }
    }
    return null;
  }

}
