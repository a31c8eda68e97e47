"""Making connections: names, addresses, TLS."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

from gorge_worker.http_client.answers import NotSent
from gorge_worker.http_client.connection import Connection
from gorge_worker.http_client.origin import Origin

CONNECT_TIMEOUT = 10.0
"""Seconds until a host that does not take the connection counts as unreachable."""


class Connector:
    """Connects to an origin, over whichever of its addresses works: the one that did last is tried first."""

    def __init__(self, origin: Origin) -> None:
        self._origin = origin
        self._good_address = ""

    async def connect(self, on_lost: Callable[[Connection], None]) -> Connection:
        """An open connection. Raises NotSent."""
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT):
                connection = await self._to_any_address(on_lost)
        except TimeoutError as error:
            raise NotSent(f"can't connect within {CONNECT_TIMEOUT:g} s") from error
        except (OSError, UnicodeError) as error:  # the latter for a name that no host can have
            raise NotSent(f"can't connect: {str(error) or type(error).__name__}") from error
        if not connection.is_open:
            raise NotSent("can't connect: the connection was closed at once")
        return connection

    async def _to_any_address(self, on_lost: Callable[[Connection], None]) -> Connection:
        origin, loop = self._origin, asyncio.get_running_loop()
        found = await loop.getaddrinfo(origin.host, origin.port, type=socket.SOCK_STREAM)
        addresses = [*dict.fromkeys(str(address[0]) for *_, address in found)]
        addresses.sort(key=lambda address: address != self._good_address)
        trouble: OSError | None = None
        for address in addresses:
            try:
                # Its share of the time, so that the others get theirs when this one swallows everything.
                async with asyncio.timeout(CONNECT_TIMEOUT / len(addresses)):
                    _, connection = await loop.create_connection(
                        lambda: Connection(on_lost),
                        address,
                        origin.port,
                        ssl=origin.tls,
                        server_hostname=origin.host.rstrip(".") if origin.tls else None,
                    )
            except OSError as error:
                trouble = error
                continue
            self._good_address = address
            return connection
        raise trouble or OSError("the name has no address")
