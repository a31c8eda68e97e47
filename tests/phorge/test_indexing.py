"""Every object of Phorge is indexed anew for search, in the background."""

from __future__ import annotations

import pytest
from support.waiting import until

from phorge.support.background import Background
from phorge.support.install import Phorge

pytestmark = pytest.mark.limit(120)
INDEX = ("maniphest_task_fdocument", "maniphest_task_ffield", "maniphest_task_fngrams")


async def test_what_was_lost_from_the_index_is_found_again(empty: Phorge, executing: Background, kind: str) -> None:
    word = f"unheard{kind}"
    made = [
        empty.call("maniphest.edit", transactions=[{"type": "title", "value": f"{word} of {number}"}])
        for number in range(5)
    ]
    tasks = {one["object"]["phid"] for one in made}
    await until(lambda: found(empty, word) == tasks, within=60, what="the new tasks are indexed")
    await empty.queue.drained()
    for table in INDEX:
        empty.databases.rows("maniphest", f"DELETE FROM {table}")
    assert not found(empty, word)

    empty.command("search", "index", "--all", "--force", "--background")
    await empty.queue.drained()
    executing.assert_runs()
    assert found(empty, word) == tasks
    assert empty.queue.executed()["PhabricatorSearchWorker"] > len(tasks)


def found(phorge: Phorge, word: str) -> set[str]:
    answer = phorge.call("maniphest.search", constraints={"query": word})
    return {one["phid"] for one in answer["data"]}
