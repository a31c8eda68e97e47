"""A task in Maniphest is created and commented on: what Phorge does afterwards."""

from __future__ import annotations

import json

import pytest
from support.waiting import until

from phorge.support.background import Background
from phorge.support.install import FEED, READER, WEBHOOK, Phorge

pytestmark = pytest.mark.limit(120)
ADDRESS = f"{READER}@mail.invalid"
TITLE = "Grüße & <more>"
COMMENT = "A comment with a \N{SNOWMAN}."
EXECUTED = {
    "PhabricatorApplicationTransactionPublishWorker",
    "PhabricatorMetaMTAWorker",
    "PhabricatorSearchWorker",
    "FeedPublisherWorker",
    "FeedPublisherHTTPWorker",
    "HeraldWebhookWorker",
}


async def test_mail_feed_stories_and_webhook_calls_go_out(empty: Phorge, executing: Background) -> None:
    reader = empty.accounts[READER].phid
    title = {"type": "title", "value": TITLE}
    made = empty.call("maniphest.edit", transactions=[title, {"type": "subscribers.add", "value": [reader]}])
    task = made["object"]["phid"]
    empty.call("maniphest.edit", objectIdentifier=task, transactions=[{"type": "comment", "value": COMMENT}])

    await until(lambda: len(empty.mail.to(ADDRESS)) == 2, within=60, what="two mails")
    await until(lambda: len(empty.http.at(FEED)) == 2, within=60, what="two stories")
    await until(lambda: len(empty.http.at(WEBHOOK)) == 2, within=60, what="two calls of the webhook")
    await empty.queue.drained()
    executing.assert_runs()

    mails = empty.mail.to(ADDRESS)
    assert [COMMENT in mail.text for mail in mails].count(True) == 1
    assert all(TITLE in mail.message["Subject"] for mail in mails)
    assert {json.loads(body)["object"]["phid"] for body in empty.http.at(WEBHOOK)} == {task}
    assert empty.queue.executed().keys() == EXECUTED


async def test_the_daemon_console_counts_the_tasks_by_class(empty: Phorge, executing: Background) -> None:
    empty.enqueue("SuiteNoteWorker", {"file": str(empty.folder / "console")}, count=3)
    await empty.queue.drained()
    executing.assert_runs()

    page = empty.web.get("/daemon/", empty.script("session", name="admin"))
    assert empty.web.table_row(page, "SuiteNoteWorker")[:2] == ["SuiteNoteWorker", "3"]
