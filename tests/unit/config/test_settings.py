from __future__ import annotations

from pathlib import Path

import pytest

from gorge_worker.config.settings import STANDALONE_DEFAULTS, Settings
from gorge_worker.config.values import ListenAddress
from gorge_worker.errors import ConfigurationError


def test_the_defaults_are_the_contracts() -> None:
    settings = Settings.read({})
    assert dict(settings.values) == {
        "LISTEN_ADDR": ListenAddress(None, 8170),
        "SERVICE_TOKEN": "",
        "TASK_QUEUE_URL": "http://task-queue:8090",
        "TASK_QUEUE_TOKEN": "",
        "LEASE_LIMIT": 4,
        "POLL_INTERVAL_MS": 1000,
        "MAX_WORKERS": 4,
        "IDLE_TIMEOUT_SEC": 180,
        "CONDUIT_URL": "",
        "CONDUIT_TOKEN": "",
        "TASK_CLASS_FILTER": (),
        "CONDUIT_ENCODING": "form",
        "CONDUIT_TIMEOUT_SEC": None,
        "PHORGE_ROOT": None,
        "PHP_BINARY": "php",
        "RUNNER_USER": "",
        "RUNNER_PROCESSES": None,
        "RUNNER_IDLE_SEC": 60,
        "RUNNER_MAX_TASKS": 1000,
        "RUNNER_MAX_RSS_MB": 256,
        "DELEGATE_CLASSES": (),
        "NATIVE_CLASSES": (),
        "NOOP_CLASSES": (),
        "HANDLERS": (),
        "FEED_HTTP_HOOKS": (),
        "DRAIN_TIMEOUT_SEC": 30,
        "LOG_LEVEL": "info",
        "LOG_FORMAT": None,
        "QUEUE_LISTEN_ADDR": ListenAddress("127.0.0.1", 8090),
        "LEASE_DURATION": None,
        "RETRY_WAIT": 300,
    }


def test_standalone_listens_on_this_machine_only() -> None:
    assert Settings.read({}, defaults=STANDALONE_DEFAULTS).listen_addr == ListenAddress("127.0.0.1", 8170)
    assert Settings.read({"LISTEN_ADDR": ":1"}, defaults=STANDALONE_DEFAULTS).listen_addr == ListenAddress(None, 1)


def test_two_variables_have_the_short_prefix() -> None:
    short = [one.name for one in Settings.variables() if one.prefixed == f"GORGE_{one.name}"]
    assert short == ["LISTEN_ADDR", "SERVICE_TOKEN"]
    others = [one for one in Settings.variables() if one.name not in short]
    assert all(one.prefixed == f"GORGE_WORKER_{one.name}" for one in others)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LEASE_LIMIT", "0"),
        ("POLL_INTERVAL_MS", "0"),
        ("MAX_WORKERS", "0"),
        ("MAX_WORKERS", "10001"),
        ("IDLE_TIMEOUT_SEC", "-180"),
        ("CONDUIT_TIMEOUT_SEC", "0"),
        ("DRAIN_TIMEOUT_SEC", "86401"),
        ("LEASE_DURATION", "0"),
        ("LEASE_DURATION", "604801"),
        ("RETRY_WAIT", "0"),
        ("CONDUIT_ENCODING", "xml"),
        ("LOG_LEVEL", "loud"),
        ("LOG_FORMAT", "xml"),
        ("CONDUIT_URL", "sqlite:///a"),
        ("CONDUIT_URL", "https://phorge/?a=b"),
        ("TASK_QUEUE_URL", "mysql://host/db"),
        ("TASK_QUEUE_URL", "mysql://u@host/db?charset=utf8"),
        ("FEED_HTTP_HOOKS", "ftp://a"),
        ("HANDLERS", "handlers.py/x"),
        ("QUEUE_LISTEN_ADDR", "8090"),
    ],
)
def test_values_that_make_no_sense_are_refused(name: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{name}={value.replace('?', '.')[:12]}"):
        Settings.read({name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("IDLE_TIMEOUT_SEC", "0"),
        ("DRAIN_TIMEOUT_SEC", "0"),
        ("TASK_QUEUE_URL", "sqlite:///queue.db"),
        ("TASK_QUEUE_URL", "mysql://u:p@host/db"),
    ],
)
def test_values_at_the_edge_are_taken(name: str, value: str) -> None:
    assert str(Settings.read({name: value}).values[name]) == value


def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "worker.env"
    file.write_text("MAX_WORKERS=7\nGORGE_WORKER_LEASE_LIMIT=8\n")
    settings = Settings.read({"LEASE_LIMIT": "9", "MAX_WORKERS": ""}, file)
    assert (settings.max_workers, settings.lease_limit) == (7, 9)
    origins = {one.name: one.origin for one in settings}
    assert origins["MAX_WORKERS"] == str(file)
    assert origins["LEASE_LIMIT"] == "the environment"


def test_a_bad_value_in_the_file_is_blamed_on_the_file(tmp_path: Path) -> None:
    file = tmp_path / "worker.env"
    file.write_text("MAX_WORKERS=many\n")
    with pytest.raises(ConfigurationError, match=f"MAX_WORKERS=many in {file} can't be used"):
        Settings.read({}, file)


def test_what_is_wrong_with_a_databases_url_is_said_without_its_password() -> None:
    with pytest.raises(ConfigurationError) as raised:
        Settings.read({"TASK_QUEUE_URL": "mysql://me:hunter2@db/tasks?sslmode=on"})
    assert str(raised.value) == (
        "TASK_QUEUE_URL=mysql://me:***@db/tasks?*** in the environment can't be used: the database's URL has an unknown"
        " option 'sslmode': there are unix_socket, ssl, ssl_ca, ssl_cert, ssl_key, ssl_verify_identity"
    )


def test_a_databases_password_is_a_secret_however_it_is_written() -> None:
    settings = Settings.read({"TASK_QUEUE_URL": "mysql://me:hunter%402@db/tasks"})
    assert settings.secrets == {"hunter%402", "hunter@2"}
