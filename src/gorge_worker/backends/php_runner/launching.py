"""How a PHP runner is started: as whom, with which command line and which environment."""

from __future__ import annotations

import os
import pwd
import shutil
from collections.abc import Mapping
from pathlib import Path

import msgspec

from gorge_worker import phorge
from gorge_worker.errors import BackendUnavailable, ConfigurationError
from gorge_worker.phorge.checkout import check_checkout

PASSED_ON = frozenset(
    {
        "HOME",
        "HTTPS_PROXY",
        "HTTP_PROXY",
        "LANG",
        "LANGUAGE",
        "LOGNAME",
        "NO_PROXY",
        "PATH",
        "PHABRICATOR_ENV",
        "PHABRICATOR_INSTANCE",
        "PHPRC",
        "PHP_INI_SCAN_DIR",
        "SHELL",
        "SSL_CERT_DIR",
        "SSL_CERT_FILE",
        "TMPDIR",
        "TZ",
        "USER",
        "http_proxy",
        "https_proxy",
        "no_proxy",
    }
)
"""All that PHP gets of the worker's environment, beside LC_*: tasks start other people's programs, and the worker's
tokens and passwords are in its variables."""
RUNNER_SCRIPT = Path(phorge.__path__[0], "runner", "runner.php")
DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """What the operator has chosen: PHORGE_ROOT, PHP_BINARY, RUNNER_USER, RUNNER_MAX_TASKS, RUNNER_MAX_RSS_MB."""

    root: Path
    php: str = "php"
    user: str = ""
    max_tasks: int = 1000
    max_rss_mb: int = 256

    def check_user(self) -> None:
        """Raises ConfigurationError when RUNNER_USER can't be used by this process."""
        if not self.user:
            return
        try:
            user = pwd.getpwnam(self.user)
        except KeyError:
            raise ConfigurationError([f"RUNNER_USER={self.user}: this system has no such user"]) from None
        if os.geteuid() not in (0, user.pw_uid):
            raise ConfigurationError(
                [f"RUNNER_USER={self.user}: only root can start PHP as another user; run the worker as that user"]
            )
        if self._changes_user() and shutil.which("setpriv") is None:
            raise ConfigurationError([f"RUNNER_USER={self.user}: needs setpriv, of the package util-linux"])

    def identity(self) -> tuple[int, int] | None:
        """User and group id of the runner, None when they are the worker's."""
        user = pwd.getpwnam(self.user) if self._changes_user() else None
        return (user.pw_uid, user.pw_gid) if user else None

    def command(self, requests: Path, answers: Path) -> list[str]:
        """The command line, for pipes at these paths.

        Raises BackendUnavailable when there is no such PHP, or nothing of Phorge at its root.
        """
        php = shutil.which(self.php)
        if php is None:
            raise BackendUnavailable(
                f"PHP_BINARY={self.php}: there is no such command; install php-cli or set PHP_BINARY"
            )
        if problem := check_checkout(self.root):
            raise BackendUnavailable(f"PHORGE_ROOT={self.root}: {problem}")
        script = [php, "-d", "display_errors=stderr", str(RUNNER_SCRIPT), f"--root={self.root}"]
        script += [f"--requests={requests}", f"--answers={answers}"]
        script += [f"--max-tasks={self.max_tasks}", f"--max-rss={self.max_rss_mb}"]
        return [*self._as_user(), *script]

    def environment(self, own: Mapping[str, str]) -> dict[str, str]:
        """What the runner gets of the worker's environment."""
        passed = {name: value for name, value in own.items() if name in PASSED_ON or name.startswith("LC_")}
        passed.setdefault("PATH", DEFAULT_PATH)
        if self._changes_user():
            user = pwd.getpwnam(self.user)
            passed |= {"HOME": user.pw_dir, "USER": user.pw_name, "LOGNAME": user.pw_name, "SHELL": user.pw_shell}
        return passed

    def _changes_user(self) -> bool:
        return bool(self.user) and pwd.getpwnam(self.user).pw_uid != os.geteuid()

    def _as_user(self) -> list[str]:
        if (identity := self.identity()) is None:
            return []
        return ["setpriv", f"--reuid={identity[0]}", f"--regid={identity[1]}", "--init-groups", "--"]
