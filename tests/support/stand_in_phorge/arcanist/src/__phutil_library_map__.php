<?php

return StandInLibraries::scan(__DIR__);
