from __future__ import annotations

import json
from urllib.parse import parse_qsl

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gorge_worker.backends.conduit.dialect import SEED
from gorge_worker.backends.conduit.request import Encoding, encode_request
from gorge_worker.model import Lease, Task

CALL = {"taskID": 7, "taskClass": "A"}
ENCODINGS: list[Encoding] = ["form", "json"]


def params(task: Task, encoding: Encoding, token: str = "") -> dict[str, object]:
    body = encode_request(
        SEED.parameters(Lease(task=task, owner="o", expires=1, ends_at=1.0), "execute"), token=token, encoding=encoding
    ).body
    if encoding == "form":
        fields = parse_qsl(body.decode("ascii"), keep_blank_values=True, strict_parsing=True)
        assert [name for name, _ in fields] == ["params", "output"]
        assert fields[1] == ("output", "json")
        body = fields[0][1].encode()
    decoded: dict[str, object] = json.loads(body)
    return decoded


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_the_call_has_the_three_parameters_that_every_version_knows(encoding: Encoding) -> None:
    task = Task(id=7, task_class="PhabricatorSearchWorker", data="5", failure_count=3, priority=1000)
    assert params(task, encoding, token="api-abc") == {
        "taskID": 7,
        "taskClass": "PhabricatorSearchWorker",
        "data": "5",
        "__conduit__": {"token": "api-abc"},
    }


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(data=st.text(alphabet=st.characters(exclude_categories=["Cs"])))
@example(data="")
@example(data='a&b=c+d%20e%;"\\/\r\n\t\x00 \u2028峡谷🏞')
@example(data=r'{"body":"a\u0000b\ud83c"}')
def test_data_survives_character_by_character(encoding: Encoding, data: str) -> None:
    assert params(Task(id=7, task_class="A", data=data), encoding)["data"] == data


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_the_token_goes_into_the_header_that_a_gateway_checks_too(encoding: Encoding) -> None:
    request = encode_request(CALL, token="api-abc", encoding=encoding)
    assert request.headers["X-Service-Token"] == "api-abc"


@pytest.mark.parametrize(("encoding", "sent"), [("form", None), ("json", True)])
def test_without_a_token_only_json_says_so(encoding: Encoding, sent: object) -> None:
    assert params(Task(id=7, task_class="A"), encoding).get("__conduit__") is sent
    assert "X-Service-Token" not in encode_request(CALL, token="", encoding=encoding).headers


def test_the_content_type_tells_the_encoding() -> None:
    types = [encode_request(CALL, token="", encoding=encoding).headers["Content-Type"] for encoding in ENCODINGS]
    assert types == ["application/x-www-form-urlencoded", "application/json"]
