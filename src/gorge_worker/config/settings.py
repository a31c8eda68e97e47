"""Every variable that there is, and nothing else: the one place to add, change or look one up."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Literal, Self

from gorge_worker.config.kinds import (
    BASE_URL,
    CLASS_NAMES,
    COMMAND_NAME,
    FOLDER,
    HTTP_URLS,
    LISTEN_ADDRESS,
    MODULE_NAMES,
    QUEUE_URL,
    TOKEN,
    USER_NAME,
    Kind,
    choice,
    optional,
    whole_number,
)
from gorge_worker.config.sources import Source, read_env_file
from gorge_worker.config.variables import Variable, VariableSet

Encoding = Literal["form", "json"]
LogLevel = Literal["debug", "info", "warning", "error"]
LogFormat = Literal["text", "json"]

HOUR_MS = 3_600_000
DAY = 86_400
WEEK = 7 * DAY
"""Seconds; the longest lease that a queue renews (the queue contract's `renew`)."""
YEAR = 365 * DAY
MOST_TASKS = 10_000

STANDALONE_DEFAULTS: Mapping[str, str] = MappingProxyType({"LISTEN_ADDR": "127.0.0.1:8170"})
"""In `standalone`, which people start on their own machines and without a token."""

ENCODING: Kind[Encoding] = choice("form", "json")
LOG_LEVEL: Kind[LogLevel] = choice("debug", "info", "warning", "error")
LOG_FORMAT: Kind[LogFormat | None] = optional(choice("json", "text"), None)


class Settings(VariableSet):
    """What the process was told. On an instance, every variable is an attribute of its own type."""

    __slots__ = ()

    listen_addr = Variable(
        LISTEN_ADDRESS,
        ":8170",
        "Address of the worker's HTTP API. An empty host means every interface, IPv4 and IPv6. In `standalone` the"
        f" default is `{STANDALONE_DEFAULTS['LISTEN_ADDR']}`.",
        prefix="GORGE_",
    )
    service_token = Variable(
        TOKEN,
        "",
        "Token that callers of the HTTP APIs must send. Several, separated by commas, are accepted side by side."
        " Empty: no authentication.",
        prefix="GORGE_",
    )
    task_queue_url = Variable(
        QUEUE_URL,
        "http://task-queue:8090",
        "Where tasks come from: a queue server, Phorge's own database"
        " (`mysql://user:password@host:3306/phabricator_worker`), or a file (`sqlite:///queue.db`). `standalone` does"
        " not use it: it has its own queue.",
    )
    task_queue_token = Variable(
        TOKEN, "", "Token that is sent to the queue; of a database, the password, where its URL has none."
    )
    lease_limit = Variable(whole_number(1, MOST_TASKS), "4", "Most tasks that one lease call takes.")
    poll_interval_ms = Variable(
        whole_number(1, HOUR_MS), "1000", "Longest pause between polls of an empty queue, in milliseconds."
    )
    max_workers = Variable(whole_number(1, MOST_TASKS), "4", "Most tasks that are executed at the same time.")
    idle_timeout_sec = Variable(
        whole_number(0, YEAR), "180", "Seconds without a task after which the worker hibernates. 0: never."
    )
    conduit_url = Variable(
        optional(BASE_URL, ""),
        "",
        "Phorge, or a gorge-conduit gateway, which executes the delegated classes. Empty: nothing is delegated.",
    )
    conduit_token = Variable(TOKEN, "", "Token that is sent to Conduit.")
    task_class_filter = Variable(CLASS_NAMES, "", "The only task classes to process. Empty: every supported one.")
    conduit_encoding = Variable(
        ENCODING, "form", "How Conduit is called. Phorge takes `form` only; `json` is for gateways that want it."
    )
    conduit_timeout_sec = Variable(
        optional(whole_number(1, WEEK), None),
        "",
        "Longest wait for one answer of Conduit, in seconds. Empty: what the task's class asks for, else 7200.",
    )
    phorge_root = Variable(
        optional(FOLDER, None),
        "",
        "The folder of a Phorge on this machine, with arcanist beside it: the worker's own PHP processes execute the"
        " delegated classes, and CONDUIT_URL is not used.",
    )
    php_binary = Variable(COMMAND_NAME, "php", "The PHP that executes tasks of PHORGE_ROOT: a path, or a name in PATH.")
    runner_user = Variable(
        optional(USER_NAME, ""),
        "",
        "The system user as whom PHP executes tasks of PHORGE_ROOT, Phorge's `phd.user` above all; needs root. Empty:"
        " the worker's own.",
    )
    runner_processes = Variable(
        optional(whole_number(1, MOST_TASKS), None),
        "",
        "Most PHP processes at the same time; tasks beyond them wait for one. Empty: MAX_WORKERS.",
    )
    runner_idle_sec = Variable(
        whole_number(1, DAY), "60", "Seconds without a task after which a PHP process is let go."
    )
    runner_max_tasks = Variable(
        whole_number(1, 1_000_000_000), "1000", "Tasks after which a PHP process is replaced by a new one."
    )
    runner_max_rss_mb = Variable(
        whole_number(1, 1_000_000), "256", "Memory, in MiB, beyond which a PHP process is replaced after its task."
    )
    delegate_classes = Variable(
        CLASS_NAMES,
        "",
        "Task classes that PHP executes; `*` for every class that nothing else handles. Empty: `*` with PHORGE_ROOT,"
        " with CONDUIT_URL alone FeedPublisherHTTPWorker, PhabricatorSearchWorker, PhabricatorMetaMTAWorker,"
        " PhabricatorApplicationTransactionPublishWorker, HeraldWebhookWorker.",
    )
    native_classes = Variable(
        CLASS_NAMES,
        "",
        "Task classes that the worker executes itself although there is a Conduit. There is one:"
        " FeedPublisherHTTPWorker.",
    )
    noop_classes = Variable(CLASS_NAMES, "", "Task classes that are acknowledged and not executed.")
    handlers = Variable(
        MODULE_NAMES,
        "",
        "Modules with Python handlers, imported at the start, beside those that installed packages announce.",
    )
    feed_http_hooks = Variable(
        HTTP_URLS, "", "The exact URIs that the worker's own feed delivery may post to. Empty: any."
    )
    drain_timeout_sec = Variable(
        whole_number(0, DAY), "30", "Seconds that running tasks may go on after SIGTERM (8 in the container image)."
    )
    log_level = Variable(LOG_LEVEL, "info", "The least important lines that are logged.")
    log_format = Variable(
        LOG_FORMAT, "", "Form of the lines that are logged. Empty: `text` on a terminal, `json` otherwise."
    )
    queue_listen_addr = Variable(
        LISTEN_ADDRESS, "127.0.0.1:8090", "Address of the queue's HTTP API, in `standalone` and `queue`."
    )
    lease_duration = Variable(
        optional(whole_number(1, WEEK), None),
        "",
        "Seconds that a lease lasts. Empty: 7200 for what a queue server hands out; 300 for a worker that opens the"
        " queue itself (a database, a file, `standalone`), which renews its leases while it executes.",
    )
    retry_wait = Variable(
        whole_number(1, WEEK),
        "300",
        "Seconds until a failed task is tried again unless its handler says otherwise; a queue server has its own.",
    )

    @classmethod
    def read(
        cls, environment: Mapping[str, str], env_file: Path | None = None, *, defaults: Mapping[str, str] | None = None
    ) -> Self:
        """Reads the environment, and behind it the file. Raises ConfigurationError."""
        sources = [Source("the environment", environment)]
        if env_file is not None:
            sources.append(read_env_file(env_file))
        return cls(sources, defaults or {})
