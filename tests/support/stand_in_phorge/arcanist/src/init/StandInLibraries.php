<?php

/** Knows the libraries, where their classes are, and loads their extensions. */
final class StandInLibraries {

  private static $roots = array();
  private static $classes = array();

  public static function register($library, $root) {
    self::$roots[$library] = $root;
    self::$classes += include $root.'/__phutil_library_map__.php';

    $extensions = glob($root.'/extensions/*.php');
    foreach ($extensions as $extension) {
      self::load($extension);
    }
  }

  public static function getRoot($library) {
    if ($library === 'phabricator') {
      $library = 'phorge';
    }
    if (!isset(self::$roots[$library])) {
      throw new Exception("There is no library \"{$library}\" here.");
    }
    return self::$roots[$library];
  }

  /** @return array<string, string> Files by class: one class a file. */
  public static function scan($root) {
    $map = array();
    $files = new RecursiveIteratorIterator(
      new RecursiveDirectoryIterator($root, FilesystemIterator::SKIP_DOTS));
    foreach ($files as $file) {
      $path = $file->getPathname();
      $is_extension = (strncmp($path, $root.'/extensions/', 12 + strlen($root))
        === 0);
      if ($file->getExtension() === 'php' && !$is_extension) {
        $map[$file->getBasename('.php')] = $path;
      }
    }
    return $map;
  }

  /** @return bool False if no library has the class. */
  public static function loadClass($class) {
    if (!isset(self::$classes[$class])) {
      return false;
    }
    self::load(self::$classes[$class]);
    return true;
  }

  /** Loads the library's classes whose names end so, and finds the subclasses. */
  public static function newSubclasses($parent, $suffix) {
    foreach (self::$classes as $class => $path) {
      if (substr($class, -strlen($suffix)) === $suffix) {
        class_exists($class);
      }
    }

    $objects = array();
    foreach (get_declared_classes() as $class) {
      if (is_subclass_of($class, $parent)) {
        $reflection = new ReflectionClass($class);
        if (!$reflection->isAbstract()) {
          $objects[] = new $class();
        }
      }
    }
    return $objects;
  }

  /** What PHP only complains about while it loads a file is an error, too. */
  private static function load($path) {
    $before = error_get_last();
    $reporting = error_reporting(E_ERROR | E_COMPILE_ERROR);
    try {
      $okay = include_once $path;
    } catch (ParseError $ex) {
      throw new Exception(head(explode("\n", (string)$ex)));
    } finally {
      error_reporting($reporting);
    }

    if (!$okay) {
      throw new Exception("\"{$path}\" can not be loaded.");
    }
    $after = error_get_last();
    if ($after !== null && $after !== $before) {
      throw new Exception(
        "PHP complains about \"{$path}\": {$after['message']}");
    }
  }

}
