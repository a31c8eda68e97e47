"""Lease owner names, in the form of PhabricatorWorkerLeaseQuery: `pid:epoch:host:sequence`."""

from __future__ import annotations

import itertools
import os
import random
import socket

from gorge_worker.clock import Clock

HOST_BYTES = 24
"""Phorge cuts the host to 32 bytes; the random part takes the rest, so that two containers of one image that start in
the same second with the same pid and host name still differ. The whole stays below the column's 64 bytes."""


class OwnerNames:
    """Makes owner names that nobody has used before. A name tells an operator which process holds a task."""

    def __init__(self, clock: Clock, rng: random.Random) -> None:
        host = socket.gethostname().encode("ascii", "replace")[:HOST_BYTES].decode()
        self._stem = f"{os.getpid()}:{int(clock.wall())}:{host}:{rng.getrandbits(32):08x}"
        self._sequence = itertools.count(1)

    def next(self) -> str:
        return f"{self._stem}:{next(self._sequence)}"
