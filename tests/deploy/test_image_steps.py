"""Carries out the Dockerfile's own steps with this machine's Python, in a folder instead of a container."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from deploy.dockerfile import DOCKERFILE, ROOT, Instruction, Stage, ignore_patterns, in_context, stages
from support.waiting import until

pytestmark = pytest.mark.xdist_group("image")  # the image is built once, not once in each process

LOCKS = ("requirements/run.lock", "requirements/build.lock")


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the lock files pin, fetched with their hashes. Without a package index there is nothing to build from."""
    folder = tmp_path_factory.mktemp("packages")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--require-hashes", "--only-binary", ":all:"]
    locks = [word for lock in LOCKS for word in ("-r", str(ROOT / lock))]
    fetched = subprocess.run([*command, *locks, "-d", str(folder)], capture_output=True, text=True, check=False)
    if fetched.returncode != 0:
        if os.environ.get("REQUIRE_ALL") == "1":
            pytest.fail(f"REQUIRE_ALL=1, and the packages can't be fetched:\n{fetched.stderr}")
        pytest.skip(f"needs a package index: {fetched.stderr.strip().splitlines()[-1]}")
    return folder


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory, packages: Path) -> Image:
    root = tmp_path_factory.mktemp("image")
    build, final = stages(DOCKERFILE.read_text())
    result = Image(root, final)
    result.build(build, packages)
    return result


class Image:
    """The outcome of a build below `root`, which stands for the container's `/`."""

    def __init__(self, root: Path, stage: Stage) -> None:
        self.root = root
        self.stage = stage
        self.python = root / "usr/local"

    def inside(self, text: str) -> str:
        """A command or path of the Dockerfile, its absolute paths moved below the root."""
        return re.sub(r"(?<![\w./])/(?=\w)", f"{self.root}/", text)

    def build(self, stage: Stage, packages: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", self.python], check=True)
        folder = self.root / "src"
        folder.mkdir()
        environment = {
            "PATH": f"{self.python}/bin:/usr/bin:/bin",
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(packages),
            "PIP_CONFIG_FILE": os.devnull,
            **stage.environment,
        }
        for one in stage.instructions:
            if one.name == "COPY":
                copy_in(one, folder)
            elif one.name == "RUN":
                command = ["/bin/sh", "-c", self.inside(one.text)]
                done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
                assert done.returncode == 0, f"{one.text}\n{done.stdout}\n{done.stderr}"

    def environment(self, **more: str) -> dict[str, str]:
        own = {name: self.inside(value) for name, value in self.stage.environment.items()}
        return {**own, "PATH": own["PATH"].replace("$PATH", "/usr/bin:/bin"), **more}

    def command(self, *words: str) -> list[str]:
        """A command line of the container, found by its own PATH and not by this machine's."""
        found = shutil.which(words[0], path=self.environment()["PATH"])
        assert found is not None, words[0]
        return [found, *words[1:]]

    @property
    def entrypoint(self) -> list[str]:
        return self.stage.last("ENTRYPOINT").exec_form

    def health(self, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
        check = Instruction("CMD", {}, self.stage.last("HEALTHCHECK").text.removeprefix("CMD "))
        command = self.command(*check.exec_form)
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def copy_in(copy: Instruction, folder: Path) -> None:
    """COPY from the checkout, as far as .dockerignore lets it."""
    *sources, target = copy.words
    patterns = ignore_patterns()
    for source in sources:
        files = [source, *(str(one.relative_to(ROOT)) for one in (ROOT / source).rglob("*"))]
        for name in files:
            if (ROOT / name).is_file() and in_context(name, patterns):
                inside = Path(name).relative_to(source) if (ROOT / source).is_dir() else Path(Path(name).name)
                goal = folder / target / inside
                goal.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, goal)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def test_the_command_that_it_starts_is_this_version(image: Image) -> None:
    command = image.command(*image.entrypoint, "--version")
    said = subprocess.run(command, env=image.environment(), capture_output=True, text=True, check=True)
    version = re.search(r'"(.+)"', (ROOT / "src/gorge_worker/_version.py").read_text())
    assert version is not None
    assert version[1] in said.stdout


def test_all_that_the_image_copies_has_been_built(image: Image) -> None:
    for copy in image.stage.all("COPY"):
        for source in copy.words[:-1]:
            assert Path(image.inside(source)).exists(), source


def test_it_holds_the_run_time_dependencies_and_nothing_else(image: Image) -> None:
    """No pip and no build tool: they would be there for whoever breaks in."""
    installed = next((image.root / "opt/gorge-worker/lib").glob("python3*/site-packages")).glob("*.dist-info")
    names = {re.sub(r"[-_.]+", "-", one.name.partition("-")[0]).lower() for one in installed}
    pinned = set(re.findall(r"^([\w.-]+)==", (ROOT / LOCKS[0]).read_text(), re.MULTILINE))
    assert names - pinned == {"gorge-worker"}


def test_its_health_check_fails_while_nothing_listens(image: Image) -> None:
    checked = image.health(image.environment(LISTEN_ADDR=f"127.0.0.1:{free_port()}"))
    assert checked.returncode == 1
    assert "Traceback" not in checked.stderr


async def test_it_starts_is_healthy_and_stops_in_peace(image: Image, tmp_path: Path) -> None:
    addresses = {"LISTEN_ADDR": f"127.0.0.1:{free_port()}", "QUEUE_LISTEN_ADDR": f"127.0.0.1:{free_port()}"}
    environment = image.environment(**addresses)
    command = image.command(*image.entrypoint, "standalone", "--data", image.inside("/data"))
    log = tmp_path / "log"
    with log.open("w") as stderr:
        worker = await asyncio.create_subprocess_exec(*command, env=environment, stderr=stderr)
    try:
        await until(lambda: worker.returncode is not None or image.health(environment).returncode == 0, within=10)
        assert worker.returncode is None, log.read_text()
        worker.send_signal(signal.SIGTERM)
        assert await worker.wait() == 0, log.read_text()
    finally:
        if worker.returncode is None:
            worker.kill()
            await worker.wait()
