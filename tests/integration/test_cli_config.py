from __future__ import annotations

import json
from pathlib import Path

from support.command import run

from gorge_worker.config.settings import Settings


async def test_it_shows_every_setting_and_where_it_came_from(tmp_path: Path) -> None:
    file = tmp_path / "worker.env"
    file.write_text("LEASE_LIMIT=7\nMAX_WORKERS=8\n")
    ended = await run("config", "--env-file", str(file), settings={"GORGE_WORKER_MAX_WORKERS": "9"})
    assert (ended.code, ended.err) == (0, "")
    rows = {line.split()[0]: line.split(maxsplit=2)[1:] for line in ended.out.splitlines()}
    assert list(rows) == [one.name for one in Settings.variables()]
    assert rows["MAX_WORKERS"] == ["9", "the environment, as GORGE_WORKER_MAX_WORKERS"]
    assert rows["LEASE_LIMIT"] == ["7", str(file)]
    assert rows["POLL_INTERVAL_MS"] == ["1000", "default"]


async def test_json_is_for_programs() -> None:
    ended = await run("config", "--json", settings={"GORGE_WORKER_MAX_WORKERS": "9"})
    assert ended.code == 0
    assert json.loads(ended.out)["MAX_WORKERS"] == {
        "value": "9",
        "origin": "the environment",
        "spelling": "GORGE_WORKER_MAX_WORKERS",
    }


async def test_no_secret_is_shown() -> None:
    secrets = {
        "SERVICE_TOKEN": "hunter1,hunter2",
        "TASK_QUEUE_TOKEN": "hunter3",
        "GORGE_WORKER_CONDUIT_TOKEN": "hunter4",
        "TASK_QUEUE_URL": "http://user:hunter5@queue",
        "CONDUIT_URL": "http://hunter6@phorge",
        "FEED_HTTP_HOOKS": "http://a:hunter7@hook,https://hook?key=hunter8",
    }
    for option in ([], ["--json"]):
        ended = await run("config", *option, settings=secrets)
        assert ended.code == 0
        assert "***" in ended.out
        assert "hunter" not in ended.out
