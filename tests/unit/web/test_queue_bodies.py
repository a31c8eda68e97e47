from __future__ import annotations

import msgspec
import pytest

from gorge_worker.model import NewTask
from gorge_worker.queues.protocol import ClassFilter
from gorge_worker.web.errors import Refused
from gorge_worker.web.queue_bodies import (
    MAX_CLASSES,
    MAX_LEASE,
    AwakenBody,
    CompleteBody,
    EnqueueBody,
    FailBody,
    LeaseBody,
    TaskBody,
)


def lease(text: str) -> LeaseBody:
    return msgspec.json.decode(text, type=LeaseBody)


def test_an_enqueue_body_is_a_task() -> None:
    text = (
        '{"taskClass":"A","data":"1","priority":0,"objectPHID":"PHID-1","containerPHID":"PHID-2",'
        '"delayUntil":5,"unknown":[]}'
    )
    task = msgspec.json.decode(text, type=EnqueueBody).task()
    assert task == NewTask(
        task_class="A", data="1", priority=0, object_phid="PHID-1", container_phid="PHID-2", delay_until=5
    )


@pytest.mark.parametrize(
    "text",
    [
        '{"taskClass":"A"}',
        '{"taskClass":"A","data":null,"priority":null,"objectPHID":null,"containerPHID":null,"delayUntil":null}',
        '{"taskClass":"A","data":"","objectPHID":"","containerPHID":""}',
    ],
)
def test_null_and_empty_are_the_same_as_left_out(text: str) -> None:
    assert msgspec.json.decode(text, type=EnqueueBody).task() == NewTask(task_class="A")


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("{}", 1),
        ('{"limit":null}', 1),
        ('{"limit":0}', 1),
        ('{"limit":-4}', 1),
        ('{"limit":7}', 7),
        ('{"limit":1180591620717411303424}', MAX_LEASE),
        ('{"limit":-1180591620717411303424}', 1),
    ],
)
def test_a_lease_is_of_one_task_at_least_and_bounded(text: str, places: int) -> None:
    assert lease(text).places() == places


@pytest.mark.parametrize(
    ("text", "classes"), [("{}", ()), ('{"taskClasses":[]}', ()), ('{"taskClasses":["A","B"]}', ("A", "B"))]
)
def test_no_classes_mean_no_filter(text: str, classes: tuple[str, ...]) -> None:
    assert lease(text).classes() == ClassFilter(classes)


def test_a_lease_names_a_bounded_number_of_classes() -> None:
    assert len(LeaseBody(task_classes=["A"] * MAX_CLASSES).classes().only) == MAX_CLASSES
    with pytest.raises(Refused, match="1001 classes"):
        LeaseBody(task_classes=["A"] * (MAX_CLASSES + 1)).classes()


@pytest.mark.parametrize(
    ("text", "seconds"), [("{}", 0), ('{"wait":null}', 0), ('{"wait":0.25}', 0.25), ('{"wait":31}', 31)]
)
def test_a_wait_is_in_seconds(text: str, seconds: float) -> None:
    assert lease(text).patience() == seconds


def test_a_negative_wait_is_refused() -> None:
    with pytest.raises(Refused, match=r"wait is -0\.5"):
        lease('{"wait":-0.5}').patience()


@pytest.mark.parametrize("text", ["{}", '{"taskID":null}', '{"taskID":0}', '{"taskID":-1}'])
def test_a_task_id_is_above_zero(text: str) -> None:
    with pytest.raises(Refused, match="taskID"):
        msgspec.json.decode(text, type=TaskBody).subject()


@pytest.mark.parametrize("duration", [-1, 2**63])
def test_a_duration_fits_its_column(duration: int) -> None:
    with pytest.raises(Refused, match="duration"):
        CompleteBody(duration=duration).microseconds()
    assert CompleteBody().microseconds() == 0
    assert CompleteBody(duration=2**63 - 1).microseconds() == 2**63 - 1


def test_a_retry_is_not_in_the_past() -> None:
    with pytest.raises(Refused, match="retryWait is -1"):
        FailBody(retry_wait=-1).wait()
    assert FailBody(retry_wait=0).wait() == 0
    assert FailBody().wait() is None


@pytest.mark.parametrize("body", [AwakenBody(), AwakenBody(task_ids=[])])
def test_awakening_nothing_is_refused(body: AwakenBody) -> None:
    with pytest.raises(Refused, match="taskIDs"):
        body.subjects()


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (EnqueueBody, "{}"),
        (EnqueueBody, '{"taskClass":null}'),
        (EnqueueBody, '{"taskClass":"A","priority":true}'),
        (EnqueueBody, '{"taskClass":"A","data":{"x":1}}'),
        (LeaseBody, '{"limit":true}'),
        (LeaseBody, '{"limit":1.5}'),
        (LeaseBody, '{"wait":"1"}'),
        (LeaseBody, '{"wait":true}'),
        (LeaseBody, '{"taskClasses":"A"}'),
        (LeaseBody, '{"taskClasses":[null]}'),
        (FailBody, '{"permanent":1}'),
        (AwakenBody, '{"taskIDs":[true]}'),
    ],
)
def test_values_of_other_types_are_refused(kind: type[msgspec.Struct], text: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(text, type=kind)
