from __future__ import annotations

import sys
import time
from email.utils import parsedate_to_datetime

import click
import msgspec

from gorge_worker.cli.http import NoAnswer, call
from gorge_worker.cli.options import Value, read_settings
from gorge_worker.config.kinds import BASE_URL, comma_separated_items
from gorge_worker.config.settings import Settings
from gorge_worker.config.values import is_store_url, mask_url
from gorge_worker.errors import GorgeWorkerError
from gorge_worker.foreign_json import decode_json
from gorge_worker.model import NewTask
from gorge_worker.queues.store import MAX_UNSIGNED

LONGEST_DATA = 16 << 20
"""Bytes; a queue takes no longer body (worker HTTP contract, limits)."""
OK = 200
UNAUTHORIZED = 401
STDIN = "-"


@click.command(
    epilog="""\b
Examples:
  gorge-worker enqueue PhabricatorMetaMTAWorker 5
  gorge-worker enqueue FeedPublisherHTTPWorker '{"uri": "http://127.0.0.1:9000/", "storyID": 1}'
  gorge-worker enqueue ExampleWorker --priority 1000 --delay 60 - < data.json
  gorge-worker enqueue ExampleWorker --queue http://task-queue:8090"""
)
@click.argument("task_class", metavar="CLASS")
@click.argument("data", required=False, default="{}")
@click.option("--priority", type=click.IntRange(0, MAX_UNSIGNED), help="Lower numbers go first.  [default: 2000]")
@click.option("--delay", type=click.IntRange(0, MAX_UNSIGNED), help="Seconds until it may be executed.")
@click.option("--object", "object_phid", metavar="PHID", help="The object that the task is about.")
@click.option("--container", "container_phid", metavar="PHID", help="The object that contains that one.")
@click.option(
    "--queue",
    "queue_url",
    type=Value(BASE_URL, "URL"),
    help="The queue's URL.  [default: TASK_QUEUE_URL if set, else this machine's standalone, at QUEUE_LISTEN_ADDR]",
)
def enqueue(
    *,
    task_class: str,
    data: str,
    priority: int | None,
    delay: int | None,
    object_phid: str | None,
    container_phid: str | None,
    queue_url: str | None,
) -> None:
    """Enqueue a task.

    DATA is JSON text, which goes into the task of CLASS byte for byte; `-` reads it from standard input, and
    without it the task gets `{}`. The token sent is TASK_QUEUE_TOKEN, or SERVICE_TOKEN for this machine's standalone.
    """
    text = _read_stdin() if data == STDIN else data
    url, token = _destination(read_settings(), queue_url)
    task = NewTask(
        task_class=_utf8(task_class, "CLASS"),
        data=_utf8(text, "DATA"),
        priority=priority,
        object_phid=object_phid,
        container_phid=container_phid,
        delay_until=_queue_time(url) + delay if delay else None,
    )
    _warn_unless_json(text)
    task_id = _enqueue(url, token, task)
    click.echo(f"enqueued task {task_id} at {mask_url(url)}")


def _read_stdin() -> str:
    raw = sys.stdin.buffer.read(LONGEST_DATA + 1)
    if len(raw) > LONGEST_DATA:
        raise click.UsageError(f"the data on standard input is longer than {LONGEST_DATA} bytes, which no queue takes")
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise click.UsageError(f"the data on standard input is not UTF-8, at byte {error.start}") from error


def _utf8(text: str, name: str) -> str:
    """The argument, which JSON can carry only when it is UTF-8 on the command line."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise click.UsageError(f"{name} is not UTF-8, at character {error.start}") from error
    return text


def _warn_unless_json(text: str) -> None:
    try:
        decode_json(text)
    except ValueError as error:
        click.echo(f"gorge-worker: warning: the data is not JSON, is it quoted for the shell? {error}", err=True)


def _destination(settings: Settings, queue_url: str | None) -> tuple[str, str]:
    """The queue's URL and the token for it. SERVICE_TOKEN is this machine's own and goes to no other."""
    if queue_url is not None:
        return queue_url, settings.task_queue_token
    if not settings.is_set(Settings.task_queue_url):
        address = settings.queue_listen_addr
        own_token = next(iter(comma_separated_items(settings.service_token)), "")
        return f"http://{address.reachable_host}:{address.port}", settings.task_queue_token or own_token
    if is_store_url(settings.task_queue_url):
        raise click.UsageError(
            "TASK_QUEUE_URL is a file or a database, and tasks are enqueued over HTTP: name the server that serves it"
            " with --queue"
        )
    return settings.task_queue_url, settings.task_queue_token


def _queue_time(url: str) -> int:
    """Now, in epoch seconds of the queue's clock, which judges delays; of this machine's if it tells no time."""
    date = call("GET", _at(url, "/healthz")).headers.get("Date", "")
    try:
        return int(parsedate_to_datetime(date).timestamp())
    except (ValueError, OverflowError):
        return int(time.time())


class _Created(msgspec.Struct):
    id: int


class _Enqueued(msgspec.Struct):
    data: _Created


def _enqueue(url: str, token: str, task: NewTask) -> int:
    """Enqueues the task and returns its id. Raises GorgeWorkerError."""
    fields = {name: value for name, value in msgspec.to_builtins(task).items() if value is not None}
    try:
        answer = call("POST", _at(url, "/api/queue/enqueue"), body=msgspec.json.encode(fields), token=token)
    except NoAnswer as error:
        raise GorgeWorkerError(f"the task may have been enqueued or not: {error}") from error
    if answer.status == UNAUTHORIZED:
        raise GorgeWorkerError(f"{mask_url(url)} does not accept the token; TASK_QUEUE_TOKEN names another one")
    if answer.status != OK:
        raise GorgeWorkerError(f"{mask_url(url)} did not take the task: {answer.reason(hide=token)}")
    try:
        return msgspec.json.decode(answer.body, type=_Enqueued).data.id
    except (msgspec.DecodeError, RecursionError) as error:
        raise GorgeWorkerError(f"{mask_url(url)} is no task queue: {answer.reason(hide=token)}") from error


def _at(url: str, path: str) -> str:
    return url.rstrip("/") + path
