from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.leases import lease_of

from gorge_worker.backends.php_runner.messages import Unusable, decode_answer, encode_request


@given(data=st.text(alphabet=st.characters(exclude_categories=["Cs"])))
@example(data="5")
@example(data='{"key":7714163963910349351}\r\n\x00\u2028峡谷🏞')
def test_a_request_is_one_line_that_holds_the_data_character_by_character(data: str) -> None:
    line = encode_request(3, lease_of(data=data))
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert json.loads(line)["data"] == data


def test_a_request_says_all_that_is_known_of_the_task_and_its_lease() -> None:
    lease = lease_of("AWorker", "5", failure_count=2, priority=1000, object_phid="PHID-X", container_phid=None)
    assert json.loads(encode_request(3, lease)) == {
        "id": 3,
        "taskID": 7,
        "taskClass": "AWorker",
        "data": "5",
        "failureCount": 2,
        "priority": 1000,
        "objectPHID": "PHID-X",
        "containerPHID": None,
        "leaseOwner": lease.owner,
        "leaseExpires": lease.expires,
    }


def test_an_answer_belongs_to_its_request() -> None:
    assert decode_answer(b'{"id":3,"result":"success"}\n', 3) == {"id": 3, "result": "success"}
    assert decode_answer(b'{"ready":true,"pid":5}\n') == {"ready": True, "pid": 5}


@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"[]\n",
        b"5\n",
        b"Warning: oops\n",
        b'{"id":2,"result":"success"}\n',
        b'{"id":"3"}\n',
        b"\xff\xfe\n",
        b"{" * 99_999,
    ],
)
def test_any_other_line_is_quoted_and_refused(line: bytes) -> None:
    with pytest.raises(Unusable, match="PHP sent a line that is no answer: ") as caught:
        decode_answer(line, 3)
    assert len(str(caught.value)) < 300
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("line", [b'{"ready":false}\n', b'{"id":1}\n', b""])
def test_a_runner_is_ready_only_when_it_says_so(line: bytes) -> None:
    with pytest.raises(Unusable):
        decode_answer(line)
