<?php

// Part of gorge-worker.

/**
 * Loads the classes that the runner shares with the Conduit extension. Where
 * the extension is installed Phorge has loaded them already, and they must be
 * this version's.
 */
final class GorgeWorkerExtensionLoader extends Phobject {

  public function load(array $classes) {
    foreach ($classes as $class) {
      $shipped = dirname(__DIR__)."/extensions/{$class}.php";
      if (!class_exists($class)) {
        require_once $shipped;
        continue;
      }

      $reflection = new ReflectionClass($class);
      $installed = $reflection->getFileName();
      if (md5_file($installed) !== md5_file($shipped)) {
        echo "{$installed} is of another version of gorge-worker: run ".
          "\"gorge-worker phorge install\" for this Phorge, or \"gorge-worker ".
          "phorge uninstall\" if nothing calls worker.execute.\n";
        exit(1);
      }
    }
  }

}
