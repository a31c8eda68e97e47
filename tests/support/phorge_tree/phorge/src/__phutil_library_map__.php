<?php

// Only looked at for when it was changed.
