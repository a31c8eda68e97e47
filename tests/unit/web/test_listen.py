from __future__ import annotations

import errno
import socket
from typing import Any

import pytest

from gorge_worker.config.values import ListenAddress
from gorge_worker.errors import StartError
from gorge_worker.web.listen import listening_sockets


def close(sockets: list[socket.socket]) -> list[tuple[int, int]]:
    """Families and ports of sockets, which are closed."""
    seen: list[tuple[int, int]] = [(one.family, one.getsockname()[1]) for one in sockets]
    for one in sockets:
        one.close()
    return seen


async def test_an_address_is_listened_on() -> None:
    [(family, port)] = close(await listening_sockets(ListenAddress("127.0.0.1", 0)))
    assert (family, port > 0) == (socket.AF_INET, True)


async def test_no_host_means_every_interface_on_one_port() -> None:
    seen = close(await listening_sockets(ListenAddress(None, 0)))
    families, ports = [set(column) for column in zip(*seen, strict=True)]
    assert socket.AF_INET in families
    assert len(seen) == (2 if socket.has_ipv6 else 1)
    assert len(ports) == 1


@pytest.mark.parametrize("trouble", [errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL])
async def test_a_machine_without_ipv6_listens_on_ipv4(trouble: int, monkeypatch: pytest.MonkeyPatch) -> None:
    class Ipv4Only(socket.socket):
        def __init__(self, family: int = -1, *more: Any) -> None:
            if family == socket.AF_INET6:
                raise OSError(trouble, "no IPv6 here")
            super().__init__(family, *more)

    monkeypatch.setattr("gorge_worker.web.listen.socket.socket", Ipv4Only)
    assert [family for family, _ in close(await listening_sockets(ListenAddress(None, 0)))] == [socket.AF_INET]


@pytest.mark.parametrize("host", ["127.0.0.1", None])
async def test_a_port_in_use_is_named(host: str | None) -> None:
    first = await listening_sockets(ListenAddress("127.0.0.1", 0))
    address = ListenAddress(host, first[0].getsockname()[1])
    with pytest.raises(StartError, match=f"can't listen on {host or ''}:{address.port}: another program has this port"):
        await listening_sockets(address)
    close(first)


@pytest.mark.parametrize("host", ["no-such-host.invalid", "a..b", "a" * 70])
async def test_an_unknown_host_is_named(host: str) -> None:
    with pytest.raises(StartError, match=f"can't listen on {host}:8170: no address is known"):
        await listening_sockets(ListenAddress(host, 8170))


async def test_an_address_of_another_machine_is_named() -> None:
    with pytest.raises(StartError, match="this machine has no such address"):
        await listening_sockets(ListenAddress("192.0.2.1", 0))


async def test_a_port_without_the_right_to_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("gorge_worker.web.listen.socket.socket.bind", refuse)
    with pytest.raises(StartError, match="no right to use this port"):
        await listening_sockets(ListenAddress("127.0.0.1", 80))
