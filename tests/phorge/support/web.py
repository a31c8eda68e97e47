"""Phorge behind PHP's own web server."""

from __future__ import annotations

import asyncio
import json
import re
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any, Self

from phorge.support.background import Background
from support.waiting import until

ANSWERS_WITHIN = 60.0


class Web(Background):
    """`php -S` with several workers; it answers when the context is entered."""

    def __init__(self, root: Path, port: int, *, workers: int = 2) -> None:
        self.url = f"http://127.0.0.1:{port}"
        entry = root / "webroot/index.php"
        super().__init__(
            # Without a script of its own it takes the name of a Conduit method for that of a file.
            ["php", "-d", "display_errors=stderr", "-S", f"127.0.0.1:{port}", "-t", entry.parent, entry],
            root.parent / f"web-{port}.log",
            settings={"PHP_CLI_SERVER_WORKERS": str(workers)},
        )

    def __enter__(self) -> Self:
        asyncio.run(until(self._answers, within=ANSWERS_WITHIN, what=f"{self.url} answers"))
        return self

    def _answers(self) -> bool:
        self.assert_runs()
        try:
            return "result" in self._open("/api/conduit.ping", {})
        except urllib.error.URLError as error:
            if isinstance(error, urllib.error.HTTPError):
                raise
            return False

    def get(self, path: str, cookies: dict[str, str]) -> str:
        """A page as somebody sees it who is logged in."""
        return self._open(path, headers={"Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())})

    @staticmethod
    def table_row(page: str, first: str) -> list[str]:
        """The cells of the row of a page's tables whose first cell says this."""
        rows = [re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL) for row in re.split(r"<tr\b", page)]
        [found] = [row for row in rows if row and row[0] == first]
        return found

    def conduit(self, method: str, token: str, parameters: dict[str, object]) -> Any:
        """The result of a method. Raises AssertionError where there is none."""
        call = {**parameters, "__conduit__": {"token": token}}
        answer = json.loads(self._open(f"/api/{method}", {"params": json.dumps(call), "output": "json"}))
        assert answer["error_code"] is None, f"{method}: {answer['error_code']}: {answer['error_info']}"
        return answer["result"]

    def _open(self, path: str, form: dict[str, str] | None = None, headers: dict[str, str] | None = None) -> str:
        body = None if form is None else urllib.parse.urlencode(form).encode()
        request = urllib.request.Request(f"{self.url}{path}", body, headers or {})  # noqa: S310 - our own server
        with urllib.request.urlopen(request, timeout=ANSWERS_WITHIN) as answer:  # noqa: S310 - likewise
            return str(answer.read().decode())
