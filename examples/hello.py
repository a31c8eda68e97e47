"""The smallest task handler. Try it: `HANDLERS=examples.hello make run`."""

from gorge_worker import TaskContext, task_handler


@task_handler("HelloWorker")
def hello(context: TaskContext) -> None:
    context.log.info("hello", who=context.data()["who"])
