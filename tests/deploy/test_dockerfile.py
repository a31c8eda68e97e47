"""What an image must hold to, read off the Dockerfile. tests/deploy/test_image_steps.py runs its steps."""

from __future__ import annotations

import subprocess

import pytest
from deploy.dockerfile import DOCKERFILE, ROOT, Stage, ignore_patterns, in_context, stages
from deploy.settings import NAMES, default

DOCKER_STOP = 10
"""Seconds that `docker stop` waits before it kills."""


@pytest.fixture(scope="module")
def built() -> list[Stage]:
    return stages(DOCKERFILE.read_text())


@pytest.fixture(scope="module")
def image(built: list[Stage]) -> Stage:
    return built[-1]


def test_every_base_image_is_pinned_to_a_release(built: list[Stage]) -> None:
    for stage in built:
        _, _, tag = stage.base.partition(":")
        assert tag[:1].isdigit(), stage.base


def test_every_stage_has_the_same_python_so_that_the_environment_can_be_copied(built: list[Stage]) -> None:
    assert len({stage.base for stage in built}) == 1


def test_nothing_is_run_in_the_image_itself_and_all_of_it_comes_from_the_build_stage(
    built: list[Stage], image: Stage
) -> None:
    assert len(built) == 2
    assert image.all("RUN") == []
    assert {copy.flags["from"] for copy in image.all("COPY")} == {built[0].name}


def test_what_is_copied_is_in_the_checkout_and_reaches_the_build(built: list[Stage]) -> None:
    patterns = ignore_patterns()
    for copy in built[0].all("COPY"):
        for source in copy.words[:-1]:
            assert (ROOT / source).exists(), source
            assert in_context(source, patterns), source


def test_nothing_else_reaches_the_build(built: list[Stage]) -> None:
    patterns = ignore_patterns()
    copied = {source.split("/")[0] for copy in built[0].all("COPY") for source in copy.words[:-1]}
    assert {one.name for one in ROOT.iterdir() if in_context(one.name, patterns)} == copied
    for private in (".env", ".git/config", "data/queue.db", "deploy/.env", "src/gorge_worker/__pycache__/model.pyc"):
        assert not in_context(private, patterns), private


def test_what_the_packages_description_names_is_copied(built: list[Stage]) -> None:
    copied = {source for copy in built[0].all("COPY") for source in copy.words[:-1]}
    assert {"pyproject.toml", "README.md", "LICENSE", "src"} <= copied


def test_it_runs_as_a_numbered_user_without_rights(image: Stage) -> None:
    user, _, group = image.last("USER").text.partition(":")
    assert int(user) > 0
    assert int(group) > 0
    assert image.instructions.index(image.last("USER")) < image.instructions.index(image.last("ENTRYPOINT"))


def test_the_data_folder_belongs_to_that_user(image: Stage) -> None:
    owners = [copy.flags.get("chown") for copy in image.all("COPY") if copy.words[-1] == "/data"]
    assert owners == [image.last("USER").text]


def test_the_command_is_the_product_and_needs_no_shell(image: Stage) -> None:
    assert image.last("ENTRYPOINT").exec_form == ["gorge-worker"]
    assert image.last("CMD").exec_form == ["run"]


def test_its_health_is_checked_without_a_shell(image: Stage) -> None:
    check = image.last("HEALTHCHECK")
    assert {"interval", "timeout", "start-period", "retries"} <= set(check.flags)
    form, _, command = check.text.partition(" ")
    assert (form, command) == ("CMD", '["gorge-worker", "health"]')


def test_the_exposed_port_is_the_one_it_listens_on(image: Stage) -> None:
    assert image.last("EXPOSE").text == default("LISTEN_ADDR").removeprefix(":")


def test_its_environment_sets_only_variables_that_exist(image: Stage) -> None:
    others = {name for name in image.environment if name != "PATH" and not name.startswith("PYTHON")}
    assert others == {"LOG_FORMAT", "DRAIN_TIMEOUT_SEC"}
    assert others <= NAMES


def test_running_tasks_get_less_time_than_docker_stop_leaves(image: Stage) -> None:
    assert int(image.environment["DRAIN_TIMEOUT_SEC"]) <= DOCKER_STOP - 2


@pytest.mark.needs("git")
def test_a_fresh_clone_has_what_the_build_copies() -> None:
    """A file that only this checkout has, because git ignores it, would be missing elsewhere."""
    patterns = ignore_patterns()
    needed = [one.name for one in ROOT.iterdir() if in_context(one.name, patterns)]
    command = ["git", "check-ignore", *needed]
    ignored = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ignored.stdout == ""
