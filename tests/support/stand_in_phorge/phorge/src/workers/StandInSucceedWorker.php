<?php

final class StandInSucceedWorker extends StandInWorker {

  protected function doWork() {
    $this->note();
  }

}
