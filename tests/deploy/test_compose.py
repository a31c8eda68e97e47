"""The compose files, held to the product's variables and to one another."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml
from deploy.dockerfile import DOCKERFILE, ROOT, stages
from deploy.settings import NAMES

FILES = ("deploy/compose.standalone.yaml", "deploy/compose.gorge.yaml")
SEED = frozenset(
    {
        "LISTEN_ADDR",
        "SERVICE_TOKEN",
        "TASK_QUEUE_URL",
        "TASK_QUEUE_TOKEN",
        "LEASE_LIMIT",
        "POLL_INTERVAL_MS",
        "MAX_WORKERS",
        "IDLE_TIMEOUT_SEC",
        "CONDUIT_URL",
        "CONDUIT_TOKEN",
        "TASK_CLASS_FILTER",
    }
)
"""What users of the Go worker have in their files."""


@pytest.fixture(params=FILES)
def compose(request: pytest.FixtureRequest) -> dict[str, Any]:
    return parsed(request.param)


def parsed(name: str) -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((ROOT / name).read_text())
    return read


def seconds(duration: str) -> int:
    return int(duration.removesuffix("s"))


def test_every_variable_of_the_worker_exists(compose: dict[str, Any]) -> None:
    assert set(compose["services"]["gorge-worker"]["environment"]) <= NAMES


def test_every_value_is_a_text_as_compose_wants_it(compose: dict[str, Any]) -> None:
    """YAML reads 30 as a number and yes as a truth."""
    for service in compose["services"].values():
        assert {type(value) for value in service["environment"].values()} == {str}


def test_the_container_is_killed_later_than_its_tasks_are_cut(compose: dict[str, Any]) -> None:
    worker = compose["services"]["gorge-worker"]
    assert seconds(worker["stop_grace_period"]) >= int(worker["environment"]["DRAIN_TIMEOUT_SEC"]) + 5


def test_the_worker_has_no_rights_and_no_place_to_write_but_its_volume(compose: dict[str, Any]) -> None:
    worker = compose["services"]["gorge-worker"]
    assert worker["read_only"] is True
    assert worker["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in worker["security_opt"]
    assert "privileged" not in worker
    assert "user" not in worker, "the image's own user is without rights"


def test_ports_are_published_on_loopback_only(compose: dict[str, Any]) -> None:
    for service in compose["services"].values():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))


def test_the_worker_demands_a_token(compose: dict[str, Any]) -> None:
    assert compose["services"]["gorge-worker"]["environment"]["SERVICE_TOKEN"].startswith("${SERVICE_TOKEN:?")


def test_no_image_follows_latest(compose: dict[str, Any]) -> None:
    assert all(not service["image"].rstrip("}").endswith(":latest") for service in compose["services"].values())


def test_the_image_is_built_by_this_dockerfile(compose: dict[str, Any]) -> None:
    build = compose["services"]["gorge-worker"]["build"]
    context = (ROOT / "deploy" / build["context"]).resolve()
    assert context == ROOT
    assert context / build["dockerfile"] == DOCKERFILE


def test_the_health_check_is_the_images(compose: dict[str, Any]) -> None:
    check = stages(DOCKERFILE.read_text())[-1].last("HEALTHCHECK")
    assert str(compose["services"]["gorge-worker"]["healthcheck"]["test"][1:]) in check.text.replace('"', "'")


def test_volumes_are_declared_and_stand_where_the_image_lets_its_user_write() -> None:
    compose = parsed(FILES[0])
    worker = compose["services"]["gorge-worker"]
    mounts = dict(volume.split(":") for volume in worker["volumes"])
    assert set(mounts) == set(compose["volumes"])
    assert worker["command"] == ["standalone", "--data", *mounts.values()]
    assert any(copy.words[-1] in mounts.values() for copy in stages(DOCKERFILE.read_text())[-1].all("COPY"))


def test_the_published_ports_of_standalone_are_those_that_it_listens_on() -> None:
    worker = parsed(FILES[0])["services"]["gorge-worker"]
    listens = {worker["environment"][name].removeprefix(":") for name in ("LISTEN_ADDR", "QUEUE_LISTEN_ADDR")}
    assert {port.rpartition(":")[2] for port in worker["ports"]} == listens


def test_gorge_users_keep_every_variable_under_its_name() -> None:
    """A variable is either passed on under its own name, or its default is what the containers need."""
    environment = parsed(FILES[1])["services"]["gorge-worker"]["environment"]
    assert SEED - set(environment) == {"LISTEN_ADDR"}
    for name, value in environment.items():
        assert set(re.findall(r"\$\{(\w+)", value)) <= {name}


def test_the_worker_finds_gorges_queue_and_shares_its_token() -> None:
    services = parsed(FILES[1])["services"]
    worker = services["gorge-worker"]["environment"]
    host, _, port = worker["TASK_QUEUE_URL"].removeprefix("http://").partition(":")
    assert port == "8090"
    assert services[host]["environment"]["SERVICE_TOKEN"].startswith("${TASK_QUEUE_TOKEN")
    assert worker["TASK_QUEUE_TOKEN"] == "${TASK_QUEUE_TOKEN}"
