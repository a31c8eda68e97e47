from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from gorge_worker.model import NewTask, Priority, Task
from gorge_worker.queues.events import decode_task, digest, encode_task

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
TASKS = st.builds(
    NewTask,
    task_class=TEXTS,
    data=TEXTS,
    priority=st.none() | st.integers(0, 3),
    object_phid=st.none() | TEXTS,
    container_phid=st.none() | TEXTS,
    delay_until=st.none() | st.integers(0, 3),
)


@given(TASKS, TASKS)
def test_the_same_task_and_no_other_has_the_same_digest(one: NewTask, other: NewTask) -> None:
    assert (digest(one) == digest(other)) == (one == other)
    assert digest(one) == digest(msgspec.convert(msgspec.to_builtins(one), NewTask))
    assert len(digest(one)) == 64


def test_a_priority_by_name_is_its_number() -> None:
    assert digest(NewTask(task_class="A", priority=Priority.ALERTS)) == digest(NewTask(task_class="A", priority=1000))


@given(TEXTS, st.none() | TEXTS)
def test_a_task_is_read_as_it_was_written(name: str, phid: str | None) -> None:
    task = Task(id=7, task_class=name, object_phid=phid, lease_owner="(delay)", lease_expires=9)
    assert decode_task(encode_task(task)) == task
