"""Which backends are paused, and what that leaves to lease."""

from __future__ import annotations

import math
import random

from gorge_worker.engine.breaker import Breaker
from gorge_worker.queues.protocol import ClassFilter
from gorge_worker.registry import ANY_CLASS, Handler, Registry


class Backends:
    """The breakers of all backends that the registry's handlers need."""

    def __init__(self, registry: Registry, rng: random.Random) -> None:
        self._handlers = registry.leasable
        self._distinct = tuple(set(self._handlers.values()))
        names = {handler.backend for handler in self._handlers.values()}
        self._breakers = {name: Breaker(name, rng) for name in sorted(filter(None, names))}

    def of(self, handler: Handler) -> Breaker | None:
        return self._breakers.get(handler.backend) if handler.backend else None

    def wait(self, now: float) -> float:
        """Seconds until any class can be executed: 0 when one can be now."""
        return min((self.wait_for(handler, now) for handler in self._handlers.values()), default=0.0)

    def until_more(self, now: float) -> float:
        """Seconds until some class can be executed that can't be now; infinity when none is waited for."""
        waits = [breaker.wait(now) for breaker in self._breakers.values()]
        return min((wait for wait in waits if wait > 0), default=math.inf)

    @property
    def waiting(self) -> int:
        """How many executions wait inside their handlers."""
        return sum([handler.waiting for handler in self._distinct])

    def only_probes(self) -> bool:
        """Whether every class needs a backend that is paused: one task at a time is enough to try it."""
        return all((breaker := self.of(handler)) and breaker.is_open for handler in self._handlers.values())

    def lease_filter(self, now: float) -> ClassFilter:
        """The classes to lease now, while there are any (`wait`)."""
        ready = [name for name, handler in self._handlers.items() if self.wait_for(handler, now) == 0]
        if ANY_CLASS not in ready:
            return ClassFilter(only=tuple(ready))
        return ClassFilter(without=tuple(name for name in self._handlers if name not in ready))

    def wait_for(self, handler: Handler, now: float) -> float:
        """Seconds until a task of this handler can be executed."""
        breaker = self.of(handler)
        return breaker.wait(now) if breaker else 0.0
