"""Where mail and HTTP posts of Phorge end: servers on loopback that keep what they get."""

from __future__ import annotations

import contextlib
import email
import email.policy
import http.server
import socketserver
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import EmailMessage
from typing import cast


@dataclass(frozen=True)
class Post:
    path: str
    body: str


@dataclass(frozen=True)
class Mail:
    recipients: tuple[str, ...]
    """The addresses that it was handed in for."""
    message: EmailMessage

    @property
    def text(self) -> str:
        """The plain text of its body."""
        body = self.message.get_body(("plain",))
        assert body is not None, self.message
        return str(body.get_content())


class HttpSink(http.server.ThreadingHTTPServer):
    """Answers every post with 200."""

    daemon_threads = True

    def __init__(self) -> None:
        self.posts: list[Post] = []
        super().__init__(("127.0.0.1", 0), _HttpHandler)

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}{path}"

    def at(self, path: str) -> list[str]:
        """The bodies that were posted to a path."""
        return [post.body for post in list(self.posts) if post.path == path]


class _HttpHandler(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        cast("HttpSink", self.server).posts.append(Post(self.path, body))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the server's name
        """Standard error is pytest's."""


class MailSink(socketserver.ThreadingTCPServer):
    """An SMTP server that accepts everything."""

    daemon_threads = True

    def __init__(self) -> None:
        self.mails: list[Mail] = []
        super().__init__(("127.0.0.1", 0), _SmtpHandler)

    def to(self, address: str) -> list[Mail]:
        """What was sent to somebody."""
        return [mail for mail in list(self.mails) if address in mail.recipients]

    @property
    def port(self) -> int:
        return int(self.server_address[1])


class _SmtpHandler(socketserver.StreamRequestHandler):
    timeout = 30.0

    def handle(self) -> None:
        recipients: list[str] = []
        self._say("220 sink")
        while line := self.rfile.readline().decode():
            command = line[:4].upper()
            if command == "RCPT":
                recipients.append(line.partition("<")[2].partition(">")[0])
            elif command == "DATA":
                self._say("354 go on")
                self._keep(recipients)
                recipients = []
            elif command == "QUIT":
                self._say("221 bye")
                return
            self._say("250 ok")

    def _keep(self, recipients: list[str]) -> None:
        lines = []
        while (line := self.rfile.readline()) not in {b".\r\n", b""}:
            lines.append(line.removeprefix(b".") if line.startswith(b"..") else line)
        message = email.message_from_bytes(b"".join(lines), policy=email.policy.default)
        cast("MailSink", self.server).mails.append(Mail(tuple(recipients), message))

    def _say(self, answer: str) -> None:
        self.wfile.write(f"{answer}\r\n".encode())


@contextlib.contextmanager
def serving(server: socketserver.BaseServer) -> Iterator[None]:
    """Serves in a thread."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
