"""A Git repository is imported."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.waiting import until

from phorge.support.background import Background
from phorge.support.git import GitServer, commit_some
from phorge.support.install import Phorge

pytestmark = pytest.mark.limit(180)
ALL_STEPS = 1 | 2 | 8
"""Message, changes and publishing, as bits of `importStatus`."""
COMMITS = 4


@pytest.fixture
def source(kind: str, tmp_path: Path) -> Iterator[str]:
    """The URL of a repository."""
    commit_some(tmp_path / "source", COMMITS, by=kind)
    with GitServer(tmp_path) as git:
        yield git.url("source")


async def test_every_commit_is_imported(empty: Phorge, executing: Background, kind: str, source: str) -> None:
    repository = observe(empty, source, name=kind)
    empty.command("repository", "update", repository)
    await imported(empty, repository)
    executing.assert_runs()
    # Phorge notices with the next update that the import is complete.
    empty.command("repository", "update", repository)
    await empty.queue.drained()

    [known] = empty.call("diffusion.repository.search", constraints={"callsigns": [repository]})["data"]
    assert known["fields"]["isImporting"] is False
    executed = empty.queue.executed()
    for step in ("Message", "Change"):
        assert executed[f"PhabricatorRepositoryGitCommit{step}ParserWorker"] == COMMITS
    found = empty.call("diffusion.commit.search", constraints={"repositories": [known["phid"]]})["data"]
    assert {one["fields"]["message"].strip() for one in found} == {f"Commit {number}" for number in range(COMMITS)}


def observe(phorge: Phorge, url: str, *, name: str) -> str:
    """Has Phorge import from there; returns the callsign."""
    callsign = name.upper()
    made = phorge.call(
        "diffusion.repository.edit",
        transactions=[
            {"type": "vcs", "value": "git"},
            {"type": "name", "value": name},
            {"type": "callsign", "value": callsign},
            {"type": "status", "value": "active"},
        ],
    )
    phorge.call(
        "diffusion.uri.edit",
        transactions=[
            {"type": "repository", "value": made["object"]["phid"]},
            {"type": "uri", "value": url},
            {"type": "io", "value": "observe"},
        ],
    )
    return callsign


async def imported(phorge: Phorge, callsign: str) -> None:
    """Waits until all steps of every commit are done."""

    def states() -> list[int]:
        rows = phorge.databases.rows(
            "repository",
            "SELECT c.importStatus FROM repository_commit c JOIN repository r ON r.id = c.repositoryID"
            " WHERE r.callsign = %s",
            callsign,
        )
        return [int(row["importStatus"]) for row in rows]

    await until(
        lambda: [state & ALL_STEPS for state in states()] == [ALL_STEPS] * COMMITS,
        within=90,
        what=f"{COMMITS} commits are imported",
    )
    await phorge.queue.drained()
