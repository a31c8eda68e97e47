from __future__ import annotations

import pytest

from gorge_worker.backends.deadlines import DEFAULT_DEADLINE, LONGEST_DEADLINE, deadline


@pytest.mark.parametrize(("asked", "seconds"), [(1, 1.0), (86_400, 86_400.0), (1.5, 2.0), (10**9, LONGEST_DEADLINE)])
def test_a_class_gets_the_seconds_that_it_asks_for(asked: object, seconds: float) -> None:
    assert deadline(asked) == seconds


@pytest.mark.parametrize("asked", [None, 0, -5, True, "300", [], 1e300])
def test_a_class_that_asks_for_nothing_usable_gets_phorges_own_lease(asked: object) -> None:
    assert deadline(asked) == DEFAULT_DEADLINE == 7200
