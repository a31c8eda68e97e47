<?php

/** One call of a method, which exists and declares all that it is given. */
final class ConduitCall extends Phobject {

  private $method;
  private $request;

  public function __construct($name, array $parameters) {
    $this->method = $this->findMethod($name);

    $undeclared = array_diff_key($parameters, $this->method->getParamTypes());
    if ($undeclared) {
      throw new ConduitException(
        pht(
          'API Method "%s" does not define these parameters: %s.',
          $name,
          "'".implode("', '", array_keys($undeclared))."'"));
    }
    $this->request = new ConduitAPIRequest($parameters);
  }

  public function getMethod() {
    return $this->method;
  }

  public function setUser(PhabricatorUser $user) {
    $this->request->setUser($user);
    return $this;
  }

  public function execute() {
    return $this->method->executeMethod($this->request);
  }

  private function findMethod($name) {
    $methods = StandInLibraries::newSubclasses(
      'ConduitAPIMethod',
      'ConduitAPIMethod');
    foreach ($methods as $method) {
      if ($method->getAPIMethodName() === $name) {
        return $method;
      }
    }
    throw new ConduitException(
      pht('Conduit API method "%s" does not exist.', $name));
  }

}
