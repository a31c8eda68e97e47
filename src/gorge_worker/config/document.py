"""Writes docs/configuration.md: `python -m gorge_worker.config.document > docs/configuration.md`."""

from __future__ import annotations

import sys

from gorge_worker.config.settings import Settings
from gorge_worker.config.variables import Variable

BEFORE = """\
# Configuration

<!-- Made by `python -m gorge_worker.config.document`; a test compares the two. -->

gorge-worker is configured by environment variables, read once, at the start. `gorge-worker config` shows what is in
effect and where each value came from, with the secrets masked.

## How variables are read

- **Two spellings.** Every variable has the short name of the first Gorge releases and the prefixed one of the later
  ones. Both work; where both are set, the prefixed one wins.
- **An empty value is the same as an unset one.** So `MAX_WORKERS=` in a compose file means the default, and an empty
  prefixed variable does not hide the short one.
- **A value that can't be used stops the start** with exit code 2. One message names every bad variable, its value and
  what it takes; nothing falls back to a default silently.
- **Lists** are separated by commas. Spaces around an item, empty items and repetitions do not count.

## Files

`--env-file FILE` (of `run`, `standalone`, `queue` and `config`) reads variables from a file of `NAME=value` lines. The
environment wins over the file, whatever the spelling. Lines may begin with `export`, `#` begins a comment, and a value
may stand in quotes; `$` has no meaning of its own, so that a token needs no escaping in single quotes. A file that is
missing, can't be read or has a line of another form stops the start.

## Tokens

Three variables hold secrets: SERVICE_TOKEN is what callers of this process must send, TASK_QUEUE_TOKEN and
CONDUIT_TOKEN are what this process sends. All travel as the header `X-Service-Token`, the last one in the call's
parameters too. They are shown nowhere, nor are a user and a password within a URL. Where the queue is a database,
TASK_QUEUE_TOKEN is its password, and of its URL only the password is hidden.

To change a token while everything runs:

1. Set `SERVICE_TOKEN=old,new` where calls are received and restart: both are accepted.
2. Change the callers to `new`, one by one.
3. Set `SERVICE_TOKEN=new` and restart.

The whole value counts as a token as well, so one that has a comma in it goes on working.

`gorge-worker enqueue` sends TASK_QUEUE_TOKEN. Where that is not set and the task goes to this machine's own
`standalone`, it sends the first of SERVICE_TOKEN's; that one is sent to no other queue.

## A database's URL

`mysql://user:password@host:3306/database`, or `mariadb://`, names a database of MySQL or MariaDB: Phorge's own, which
is `phabricator_worker` unless its namespace is another one, or one of gorge-worker's own. What is special within a
user, a password or a name is percent-encoded: `@` as `%40`, `/` as `%2F`, `#` as `%23`. Without a port it is 3306,
without a password TASK_QUEUE_TOKEN is the password. Options stand behind a `?`, separated by `&`:

| option | meaning |
| --- | --- |
| unix_socket | The server's socket, a path; host and port do not count then. |
| ssl | `true`: TLS, with a certificate that the system's authorities vouch for. |
| ssl_ca | A file of authorities in place of the system's; means TLS. |
| ssl_cert, ssl_key | Files of this client's own certificate and its key; mean TLS. |
| ssl_verify_identity | `false`: the certificate may be for another host name. |

## The variables

"""

AFTER = """\

## What each takes

| variable | takes |
| --- | --- |
"""


def document() -> str:
    """The whole page, in Markdown."""
    variables = Settings.variables()
    meanings = "".join(f"| {one.name} | {one.prefixed} | {_default(one)} | {one.meaning} |\n" for one in variables)
    takes = "".join(f"| {one.name} | {one.kind.expected} |\n" for one in variables)
    return f"{BEFORE}| variable | later name | default | meaning |\n| --- | --- | --- | --- |\n{meanings}{AFTER}{takes}"


def _default(variable: Variable[object]) -> str:
    return f"`{variable.default}`" if variable.default else "empty"


if __name__ == "__main__":
    sys.stdout.write(document())
