"""gorge-worker: runs Phorge's background tasks.

What is exported here is for authors of task handlers:

    from gorge_worker import TaskContext, task_handler

    @task_handler("ExampleWorker", timeout=60)
    def example(context: TaskContext) -> None:
        context.log.info("executing", data=context.data())
"""

from gorge_worker._version import __version__
from gorge_worker.errors import PermanentFailure, YieldTask
from gorge_worker.handlers.context import TaskContext
from gorge_worker.handlers.marking import task_handler
from gorge_worker.model import NewTask, Priority, Task

__all__ = [
    "NewTask",
    "PermanentFailure",
    "Priority",
    "Task",
    "TaskContext",
    "YieldTask",
    "__version__",
    "task_handler",
]
