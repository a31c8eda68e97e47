from __future__ import annotations

import os
import random
import socket

import pytest
from support.leases import QUEUE_TIME, FixedClock

from gorge_worker.queues.checks import check_owner
from gorge_worker.queues.owners import OwnerNames


def names(seed: int = 1) -> OwnerNames:
    return OwnerNames(FixedClock(), random.Random(seed))


def test_a_name_tells_pid_time_host_and_sequence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "worker-7")
    owners = names()
    first, second = owners.next(), owners.next()
    pid, epoch, host, _, sequence = first.split(":")
    assert (pid, epoch, host, sequence) == (str(os.getpid()), str(QUEUE_TIME), "worker-7", "1")
    assert second == first[:-1] + "2"


def test_two_processes_that_share_pid_host_and_second_differ() -> None:
    assert names(1).next() != names(2).next()


@pytest.mark.parametrize("host", ["", "h" * 200, "峡谷" * 40, "\udcff-host"])
def test_a_name_fits_its_column_whatever_the_host_is_called(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: host)
    monkeypatch.setattr(os, "getpid", lambda: 4_194_304)
    owners = names()
    for _ in range(1000):
        name = owners.next()
    check_owner(name)
    assert len(name) + len("000000") <= 64
