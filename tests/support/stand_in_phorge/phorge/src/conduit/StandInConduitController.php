<?php

/** Answers POST /api/<method>. */
final class StandInConduitController extends Phobject {

  /** @return array<string, mixed> With result, error_code and error_info. */
  public function handle($method) {
    try {
      list($metadata, $parameters) = $this->decodeParameters();
      $call = new ConduitCall($method, $parameters);

      if ($call->getMethod()->shouldRequireAuthentication()) {
        $error = $this->authenticate($call, $metadata);
        if ($error) {
          return $this->newAnswer(null, ...$error);
        }
      }

      try {
        return $this->newAnswer($call->execute());
      } catch (ConduitException $ex) {
        $code = $ex->getMessage();
        $info = coalesce(
          $ex->getErrorDescription(),
          $call->getMethod()->getErrorDescription($code));
        return $this->newAnswer(null, $code, $info);
      }
    } catch (ConduitException $ex) {
      return $this->newAnswer(null, 'ERR-CONDUIT-CALL', $ex->getMessage());
    } catch (Exception $ex) {
      phlog($ex);
      return $this->newAnswer(null, 'ERR-CONDUIT-CORE', $ex->getMessage());
    }
  }

  private function decodeParameters() {
    if (idx($_SERVER, 'CONTENT_TYPE') === 'application/json') {
      throw new Exception('Parameters are sent as a form, and not as JSON.');
    }
    $text = idx($_POST, 'params');
    $parameters = phutil_nonempty_string($text)
      ? phutil_json_decode($text)
      : array_diff_key($_POST, array('output' => true));
    $metadata = idx($parameters, '__conduit__', array());
    unset($parameters['__conduit__']);
    return array($metadata, $parameters);
  }

  /** @return array<string>|null Code and text of an error. */
  private function authenticate(ConduitCall $call, array $metadata) {
    $token = idx($metadata, 'token', '');
    if ($token === '') {
      return array('ERR-INVALID-SESSION', 'Session key is not present.');
    }
    $users = PhabricatorEnv::getEnvConfig('stand-in.tokens');
    if (!isset($users[$token])) {
      return array(
        'ERR-INVALID-AUTH',
        pht('API token "%s" is not valid.', $token),
      );
    }
    $call->setUser(id(new PhabricatorUser())->setUsername($users[$token]));
    return null;
  }

  private function newAnswer($result, $code = null, $info = null) {
    return array(
      'result' => $result,
      'error_code' => $code,
      'error_info' => $info,
    );
  }

}
