"""PHP's own web server before a stand-in for Phorge, and calls of its Conduit."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from asyncio.subprocess import DEVNULL, Process
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp

from support.mariadb import hold_port
from support.phorge_tree import StandIn
from support.waiting import until_true

TOKEN = "api-bot-0123456789"
STRANGER = "api-stranger-0123"


class PhpServer:
    def __init__(self, url: str, log: Path, session: aiohttp.ClientSession) -> None:
        self.url = url
        self._log = log
        self._session = session

    @property
    def log(self) -> str:
        return self._log.read_text()

    async def call(self, token: str = TOKEN, **parameters: Any) -> dict[str, Any]:
        """The answer of `worker.execute`."""
        form = {"params": json.dumps({**parameters, "__conduit__": {"token": token}}), "output": "json"}
        async with self._session.post(f"{self.url}/api/worker.execute", data=form) as answer:
            assert answer.status == 200
            envelope: dict[str, Any] = await answer.json()
            return envelope

    async def result(self, **parameters: Any) -> dict[str, Any]:
        """Of a call that must succeed."""
        answer = await self.call(**parameters)
        assert answer["error_code"] is None, answer
        result: dict[str, Any] = answer["result"]
        return result

    async def refusal(self, **parameters: Any) -> str:
        """The error code of a call that must not succeed."""
        answer = await self.call(**parameters)
        assert answer["result"] is None
        return str(answer["error_code"])


@contextlib.asynccontextmanager
async def served(phorge: StandIn, folder: Path, workers: int = 2) -> AsyncIterator[PhpServer]:
    """Serves the Phorge with that many processes, to two accounts: "bot" by TOKEN and "stranger" by STRANGER."""
    phorge.configure(stand_in__tokens={TOKEN: "bot", STRANGER: "stranger"})
    holder, port = hold_port()
    log = folder / "php.log"
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            "php",
            "-S",
            f"127.0.0.1:{port}",
            str(phorge.root / "webroot" / "index.php"),
            stdin=DEVNULL,
            stdout=output,
            stderr=output,
            env={**os.environ, "PHP_CLI_SERVER_WORKERS": str(workers)},
            start_new_session=True,
        )
    try:
        async with aiohttp.ClientSession() as session:
            server = PhpServer(f"http://127.0.0.1:{port}", log, session)
            await until_true(lambda: _answers(session, server.url), within=10, what="php -S")
            yield server
    finally:
        await _end(process)
        holder.close()


async def _answers(session: aiohttp.ClientSession, url: str) -> bool:
    try:
        async with session.post(f"{url}/api/ping", data={}) as answer:
            return answer.status == 200
    except aiohttp.ClientError:
        return False


async def _end(process: Process) -> None:
    with contextlib.suppress(ProcessLookupError):  # it has ended by itself
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
