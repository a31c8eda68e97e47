"""Runs coroutine tests, and names what could not be run on this machine."""

from __future__ import annotations

import asyncio
import inspect
import os
import shutil
from collections.abc import Generator

import hypothesis
import pytest
from support.virtual_time import run_virtually

# How long an example takes says nothing on a busy machine. CI tries the same examples each time, so that a change is
# judged by what it changes; every other run looks for new ones.
hypothesis.settings.register_profile("anywhere", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "anywhere")

DEFAULT_LIMIT = 20.0
SEARCH_PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"])
"""Where Debian puts servers, which a user's PATH does not name."""
MISSING = pytest.StashKey[dict[str, list[str]]]()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Runs `async def` tests, each in an event loop of its own and within its limit."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    if virtual := pyfuncitem.get_closest_marker("virtual_time"):
        arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
        run_virtually(pyfuncitem.obj(**arguments), **virtual.kwargs)
        return True
    marker = pyfuncitem.get_closest_marker("limit")
    limit = marker.args[0] if marker else DEFAULT_LIMIT
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}

    async def bounded() -> None:
        try:
            async with asyncio.timeout(limit) as bound:
                await pyfuncitem.obj(**arguments)
        except TimeoutError:
            if bound.expired():
                pytest.fail(f"not done within {limit} s")
            raise

    asyncio.run(bounded())
    return True


def pytest_configure(config: pytest.Config) -> None:
    config.stash[MISSING] = {}


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips a test whose commands the machine lacks; with REQUIRE_ALL=1 that is a failure."""
    for marker in item.iter_markers("needs"):
        if missing := [command for command in marker.args if shutil.which(command, path=SEARCH_PATH) is None]:
            if os.environ.get("REQUIRE_ALL") == "1":
                pytest.fail(f"REQUIRE_ALL=1, and this machine lacks: {', '.join(missing)}")
            pytest.skip(f"needs {', '.join(missing)}")


@pytest.hookimpl(wrapper=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Generator[None, None, None]:
    yield
    if skipped := terminalreporter.getreports("skipped"):
        terminalreporter.section("not run on this machine")
        for report in skipped:
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
            terminalreporter.write_line(f"{report.nodeid}: {reason}")
