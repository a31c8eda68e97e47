from __future__ import annotations

import shutil
import ssl
import subprocess
from pathlib import Path

import pytest
from support.http_calls import call, client_of
from support.raw_server import Peer, answering, answering_once, keep_answering, raw_server

from gorge_worker.http_client import NotSent

pytestmark = pytest.mark.needs("openssl")
BIG = bytes(range(256)) * 20_000


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for localhost, with its key, in one file."""
    folder = tmp_path_factory.mktemp("tls")
    openssl = shutil.which("openssl")
    assert openssl
    command = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key", "-out", "certificate"]
    command += ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-days", "2"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    both = folder / "both"
    both.write_bytes((folder / "key").read_bytes() + (folder / "certificate").read_bytes())
    return both


@pytest.fixture
def tls(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


@pytest.fixture
def _trusted(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))


@pytest.mark.usefixtures("_trusted")
async def test_calls_over_tls_carry_the_servers_name_and_share_a_connection(tls: ssl.SSLContext) -> None:
    names: list[str | None] = []
    tls.sni_callback = lambda _socket, name, _context: names.append(name)
    async with raw_server(keep_answering, tls=tls) as server, client_of(server.url) as client:
        for _ in range(3):
            assert (await call(client)).body == b"ok"
        assert server.connections == 1
    assert names == ["localhost"]


@pytest.mark.usefixtures("_trusted")
async def test_no_protocol_but_http_1_is_offered(tls: ssl.SSLContext) -> None:
    async def script(peer: Peer) -> None:
        chosen.append(peer.writer.get_extra_info("ssl_object").selected_alpn_protocol())
        await keep_answering(peer)

    chosen: list[str | None] = []
    tls.set_alpn_protocols(["h2", "http/1.1"])
    async with raw_server(script, tls=tls) as server, client_of(server.url) as client:
        assert (await call(client)).body == b"ok"
    assert chosen == ["http/1.1"]


@pytest.mark.usefixtures("_trusted")
async def test_big_bodies_go_both_ways(tls: ssl.SSLContext) -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(BIG) + BIG
    async with raw_server(answering(answer), tls=tls) as server, client_of(server.url) as client:
        for _ in range(2):
            assert (await call(client, body=BIG, most=len(BIG))).body == BIG
        assert server.connections == 1
    assert all(request.endswith(BIG) for request in server.requests)


@pytest.mark.usefixtures("_trusted")
async def test_an_answer_may_end_with_the_connection(tls: ssl.SSLContext) -> None:
    script = answering_once(b"HTTP/1.1 200 OK\r\n\r\n", b"content")
    async with raw_server(script, tls=tls) as server, client_of(server.url) as client:
        assert (await call(client)).body == b"content"


async def test_a_certificate_that_nobody_vouches_for_is_refused_before_anything_is_sent(tls: ssl.SSLContext) -> None:
    async with raw_server(keep_answering, tls=tls) as server, client_of(server.url) as client:
        with pytest.raises(NotSent, match=r"can't connect: .*certificate"):
            await call(client)
        await server.until_all_closed()
        assert server.requests == []


@pytest.mark.usefixtures("_trusted")
async def test_a_certificate_of_another_name_is_refused(tls: ssl.SSLContext) -> None:
    async with (
        raw_server(keep_answering, tls=tls) as server,
        client_of(f"https://127.0.0.1:{server.port}") as client,
    ):
        with pytest.raises(NotSent, match=r"can't connect: .*certificate"):
            await call(client)


async def test_a_server_that_does_not_speak_tls_is_refused() -> None:
    async def greet(peer: Peer) -> None:
        await peer.send(b"220 ready\r\n")
        await peer.until_closed()

    async with raw_server(greet) as server, client_of(f"https://127.0.0.1:{server.port}") as client:
        with pytest.raises(NotSent, match="can't connect"):
            await call(client)
        await server.until_all_closed()
