from __future__ import annotations

import math
import random

from support.memory_queue import FakeHandler

from gorge_worker.engine.backends import Backends
from gorge_worker.engine.breaker import THRESHOLD
from gorge_worker.queues.protocol import ANY, ClassFilter
from gorge_worker.registry import ANY_CLASS, Registry

DELEGATED, NATIVE = FakeHandler(backend="conduit"), FakeHandler()


def backends(**handlers: FakeHandler) -> Backends:
    registry = Registry()
    for name, handler in handlers.items():
        registry.register(ANY_CLASS if name == "rest" else name, handler)
    return Backends(registry, random.Random(0))


def paused(made: Backends) -> Backends:
    breaker = made.of(DELEGATED)
    assert breaker is not None
    for _ in range(THRESHOLD):
        breaker.refused(0.0, "down")
    return made


def test_a_handler_without_a_backend_has_no_breaker() -> None:
    assert backends(A=NATIVE).of(NATIVE) is None


def test_all_classes_are_leased_while_every_backend_works() -> None:
    made = backends(A=DELEGATED, B=NATIVE)
    assert made.lease_filter(0.0) == ClassFilter(("A", "B"))
    assert made.wait(0.0) == 0
    assert not made.only_probes()


def test_classes_of_a_paused_backend_are_left_out() -> None:
    made = paused(backends(A=DELEGATED, B=NATIVE))
    assert made.lease_filter(0.0) == ClassFilter(("B",))
    assert made.wait(0.0) == 0
    assert made.wait_for(DELEGATED, 0.0) > 0
    assert not made.only_probes()


def test_when_all_are_paused_there_is_a_wait_and_then_only_a_probe() -> None:
    made = paused(backends(A=DELEGATED))
    wait = made.wait(0.0)
    assert wait > 0
    assert made.wait(wait) == 0
    assert made.only_probes()
    assert made.lease_filter(wait) == ClassFilter(("A",))


def test_the_end_of_a_pause_is_known_while_other_classes_are_leased() -> None:
    made = paused(backends(A=DELEGATED, B=NATIVE))
    pause = made.until_more(0.0)
    assert 0 < pause <= 1
    assert made.until_more(pause) == math.inf
    assert backends(A=DELEGATED).until_more(0.0) == math.inf


def test_a_fallback_leases_any_class() -> None:
    assert backends(A=NATIVE, rest=DELEGATED).lease_filter(0.0) == ANY
