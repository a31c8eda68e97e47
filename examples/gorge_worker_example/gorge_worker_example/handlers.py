"""One handler of each kind."""

from __future__ import annotations

from gorge_worker import PermanentFailure, Priority, TaskContext, task_handler


@task_handler("ExampleWordCountWorker", timeout=60, retry_wait=lambda failures: 15 * failures, max_failures=10)
def count_words(context: TaskContext) -> None:
    """Counts the words of `{"text": "..."}`."""
    match context.data():
        case {"text": str(text)}:
            context.log.info("words counted", words=len(text.split()))
        case _:
            raise PermanentFailure('the data must be {"text": "..."}')


@task_handler("ExampleLibraryWorker", timeout=60)
async def count_library(context: TaskContext) -> None:
    """Has the words of every text of `{"texts": ["...", ...]}` counted, each by a task of its own."""
    match context.data():
        case {"texts": [*texts]}:
            for text in texts:
                context.follow_up("ExampleWordCountWorker", {"text": text}, priority=Priority.BULK)
        case _:
            raise PermanentFailure('the data must be {"texts": ["...", ...]}')
