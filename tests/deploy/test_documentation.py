"""docs/deployment.md, held to the files and variables that it speaks of."""

from __future__ import annotations

import re

import pytest
import yaml
from deploy.dockerfile import DOCKERFILE, ROOT, stages
from deploy.settings import NAMES, default

TEXT = (ROOT / "docs" / "deployment.md").read_text()


def test_every_variable_that_is_set_in_it_exists() -> None:
    compose = yaml.safe_load((ROOT / "deploy" / "compose.gorge.yaml").read_text())
    of_others = {"GORGE_TASK_QUEUE_IMAGE", *compose["services"]["task-queue"]["environment"]}
    named = set(re.findall(r"\b([A-Z]{2,}_[A-Z_]+)=", TEXT)) | set(re.findall(r"`([A-Z]{2,}_[A-Z_]*[A-Z])`", TEXT))
    assert named
    assert named - of_others <= NAMES


def test_every_file_of_the_checkout_that_it_names_is_there() -> None:
    named = set(re.findall(r"\b(?:deploy|requirements|docs)/[\w.-]*\w", TEXT)) - {"deploy/.env"}
    assert {"deploy/Dockerfile", "requirements/run.lock"} <= named
    assert [name for name in named if not (ROOT / name).exists()] == []


@pytest.mark.parametrize(
    ("starter", "value"),
    [
        ("docker run", stages(DOCKERFILE.read_text())[-1].environment["DRAIN_TIMEOUT_SEC"]),
        ("the systemd unit", default("DRAIN_TIMEOUT_SEC")),
    ],
)
def test_the_table_of_stop_times_tells_what_the_files_say(starter: str, value: str) -> None:
    row = next(line for line in TEXT.splitlines() if line.startswith("|") and starter in line)
    assert row.split("|")[3].split(",")[0].strip() == value
