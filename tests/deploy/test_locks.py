"""The lock files: complete, verifiable, and free of addresses."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest
from deploy.dockerfile import ROOT

FILES = ("run", "build", "dev")


def pins(name: str) -> dict[str, str]:
    """What a lock file pins: package -> version."""
    return dict(re.findall(r"^([a-z0-9][a-z0-9-]*)==(\S+)", text(name), re.MULTILINE))


def text(name: str) -> str:
    return (ROOT / "requirements" / f"{name}.lock").read_text()


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def packages(requirements: list[Any]) -> set[str]:
    """The normalized names of requirements; a group's includes are not names."""
    names = [re.split(r"[^\w.-]", one)[0] for one in requirements if isinstance(one, str)]
    return {re.sub(r"[-_.]+", "-", name).lower() for name in names}


@pytest.mark.parametrize("name", FILES)
def test_every_line_is_a_pin_or_one_of_its_hashes(name: str) -> None:
    requirements = re.split(r"\n(?=\S)", text(name).strip())
    assert requirements
    for requirement in requirements:
        pin, *hashes = requirement.split(" \\\n    ")
        assert re.fullmatch(r"[a-z0-9-]+==[\w.]+( ; .+)?", pin), pin
        assert hashes, f"{pin} has no hash"
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", one) for one in hashes), pin


@pytest.mark.parametrize("name", FILES)
def test_no_address_is_in_it(name: str) -> None:
    assert re.findall(r"://|--\w*index|--find-links| @ ", text(name)) == []


def test_they_pin_all_that_the_project_asks_for() -> None:
    asked = project()
    run = packages(asked["project"]["dependencies"])
    build, dev = (packages(asked["dependency-groups"][group]) for group in ("build", "dev"))
    assert run <= set(pins("run"))
    assert build <= set(pins("build"))
    assert run | build | dev <= set(pins("dev"))


def test_the_build_system_is_among_the_build_pins() -> None:
    assert packages(project()["build-system"]["requires"]) <= set(pins("build"))


def test_they_agree_with_one_another() -> None:
    """The tests run with the versions that users get."""
    assert {**pins("run"), **pins("build")}.items() <= pins("dev").items()


def test_no_build_or_development_tool_is_pinned_for_run_time() -> None:
    groups = project()["dependency-groups"]
    assert not packages([*groups["build"], *groups["dev"]]) & set(pins("run"))
