from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gorge_worker.model import NewTask
from gorge_worker.queues.checks import can_be_class, check_new_task, check_owner
from gorge_worker.queues.store import BadTask

ANYTHING = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary())


@given(task_class=ANYTHING, data=ANYTHING, priority=ANYTHING, phid=ANYTHING, delay_until=ANYTHING)
def test_whatever_a_handler_made_is_a_task_or_a_bad_task(
    task_class: str, data: str, priority: int, phid: str, delay_until: int
) -> None:
    task = NewTask(task_class=task_class, data=data, priority=priority, object_phid=phid, delay_until=delay_until)
    with contextlib.suppress(BadTask):
        check_new_task(task)
        assert 0 < len(task_class.encode()) <= 64
        assert data.encode().decode() == data


@given(st.text(max_size=70))
def test_a_name_of_64_bytes_of_utf8_without_nul_can_be_a_class_and_an_owner(name: str) -> None:
    fits = 0 < len(name.encode("utf-8", "surrogatepass")) <= 64
    whole = name.encode("utf-8", "replace").decode() == name and "\0" not in name
    assert can_be_class(name) == (fits and whole)
    if fits and whole:
        check_owner(name)
    else:
        with pytest.raises(BadTask, match="leaseOwner"):
            check_owner(name)


def test_a_bool_is_no_number() -> None:
    with pytest.raises(BadTask, match="priority is not a whole number"):
        check_new_task(NewTask(task_class="A", priority=True))
