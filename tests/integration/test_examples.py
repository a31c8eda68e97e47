"""The example package, installed as a user would install it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from structlog.testing import capture_logs
from support.leases import FixedClock, lease_of

from gorge_worker.handlers.setup import HandlerChoice, build_handlers
from gorge_worker.model import Lease, NewTask, Outcome, Priority, Verdict
from gorge_worker.registry import Registry

SOURCE = Path(__file__).parents[2] / "examples" / "gorge_worker_example"
COUNT, LIBRARY = "ExampleWordCountWorker", "ExampleLibraryWorker"

pytestmark = pytest.mark.limit(60)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package in it. Needs no network: the build backend is installed already."""
    target = tmp_path_factory.mktemp("installed")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"]
    options = ["--no-deps", "--no-build-isolation", "--target", str(target), str(SOURCE)]
    done = subprocess.run([*command, *options], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture
def registry(installed: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    monkeypatch.syspath_prepend(installed)
    with ThreadPoolExecutor(1) as executor:
        yield build_handlers(HandlerChoice(), executor=executor, clock=FixedClock()).registry
    for name in [name for name in sys.modules if name.startswith("gorge_worker_example")]:
        del sys.modules[name]


async def execute(registry: Registry, lease: Lease) -> Outcome:
    handler = registry.find(lease.task.task_class)
    assert handler is not None
    return await handler.execute(lease)


async def test_the_installed_handlers_are_found_without_being_named(registry: Registry, installed: Path) -> None:
    assert registry.supported == ["FeedPublisherHTTPWorker", COUNT, LIBRARY]
    assert sys.modules["gorge_worker_example"].__file__ == str(installed / "gorge_worker_example" / "__init__.py")


async def test_the_plain_function_is_executed(registry: Registry) -> None:
    with capture_logs() as logs:
        assert await execute(registry, lease_of(COUNT, '{"text": "to be or not"}')) == Outcome.success()
    assert logs == [{"event": "words counted", "words": 4, "task": 7, "task_class": COUNT, "log_level": "info"}]


async def test_the_async_function_enqueues_its_follow_ups(registry: Registry) -> None:
    outcome = await execute(registry, lease_of(LIBRARY, '{"texts": ["to be or not", "to be"]}'))
    texts = ('{"text":"to be or not"}', '{"text":"to be"}')
    assert outcome == Outcome.success(
        tuple(NewTask(task_class=COUNT, data=text, priority=Priority.BULK) for text in texts)
    )


@pytest.mark.parametrize("task_class", [COUNT, LIBRARY])
@pytest.mark.parametrize("data", ["not json", "5", "{}", '{"text": 5, "texts": "x"}'])
async def test_data_that_can_never_work_fails_for_good(registry: Registry, task_class: str, data: str) -> None:
    assert (await execute(registry, lease_of(task_class, data))).verdict is Verdict.PERMANENT_FAILURE
