"""Taking an address: sockets that listen, or a reason that tells an operator what to do."""

from __future__ import annotations

import asyncio
import errno
import socket

from gorge_worker.config.values import ListenAddress
from gorge_worker.errors import StartError

BACKLOG = 1024
"""Connections that may wait to be accepted; the kernel has a bound of its own."""

_NOT_ON_THIS_MACHINE = {errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL}

_ADVICE = {
    errno.EADDRINUSE: "another program has this port: stop it, or choose another one",
    errno.EACCES: "no right to use this port: choose one above 1023",
    errno.EADDRNOTAVAIL: "this machine has no such address: use one of its own, or no host for every interface",
}


async def listening_sockets(address: ListenAddress) -> list[socket.socket]:
    """Sockets that listen on every address that the host stands for, port 0 being one free port for all of them.

    What this machine does not have (IPv6, say) is left out as long as something remains. Raises StartError.
    """
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (socket.gaierror, UnicodeError) as error:
        raise StartError(f"can't listen on {address}: no address is known for this host name") from error
    sockets: list[socket.socket] = []
    missing: OSError | None = None
    try:
        for family, _, _, _, (host, port, *scope) in dict.fromkeys(found):
            one_port = sockets[0].getsockname()[1] if sockets else port
            try:
                sockets.append(_listening(family, (host, one_port, *scope)))
            except OSError as error:
                if error.errno not in _NOT_ON_THIS_MACHINE:
                    raise
                missing = error
        if missing is not None and not sockets:
            raise missing
    except OSError as error:
        for one in sockets:
            one.close()
        reason = _ADVICE.get(error.errno or 0, error.strerror)
        raise StartError(f"can't listen on {address}: {reason}") from error
    return sockets


def _listening(family: int, where: tuple[str | int | bytes, ...]) -> socket.socket:
    one = socket.socket(family, socket.SOCK_STREAM)
    try:
        one.setblocking(False)
        # A restarted server must not wait for its predecessor's connections to be forgotten.
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        one.bind(where)
        # Two programs can bind one port when neither listens yet: only this tells.
        one.listen(BACKLOG)
    except OSError:
        one.close()
        raise
    return one
