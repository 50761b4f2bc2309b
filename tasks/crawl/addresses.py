"""Which machines a crawl may connect to: public ones, and those that a person named as local."""

import ipaddress
import socket
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import anyio
import httpcore

Place = tuple[str, int]  # host and port
Ip = ipaddress.IPv4Address | ipaddress.IPv6Address
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


class RefusedAddress(httpcore.ConnectError):
    """A name that leads to no machine that may be asked."""


def is_public(address: Ip) -> bool:
    """Whether an address is one of the open internet, also when it is wrapped into another kind of address."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if inner is None and address.teredo is not None:
            inner = address.teredo[1]
        if inner is None and address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(inner)
        if address.is_site_local or address.scope_id:
            return False
    return address.is_global and not address.is_multicast and not address.is_reserved and not address.is_unspecified


class CheckedNetwork(httpcore.AsyncNetworkBackend):
    """Connects to the very address that was checked: a name that resolves otherwise a moment later gains nothing."""

    def __init__(self, local: Collection[Place] = (), instead: Mapping[Place, Place] | None = None) -> None:
        self._local = frozenset(local)
        self._instead = instead or {}  # name -> where it is found, whatever name services say
        self._network = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Resolves, checks and connects; RefusedAddress where no address of the name may be asked."""
        local = (host, port) in self._local
        host, port = self._instead.get((host, port), (host, port))
        allowed = [ip for ip in await _resolve(host, port, timeout) if local or is_public(ip)]
        if not allowed:
            raise RefusedAddress(f"{host} is no public machine")
        failed: Exception | None = None
        for ip in allowed[:2]:
            try:
                return await self._network.connect_tcp(str(ip), port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failed = error
        assert failed is not None
        raise failed

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore.AsyncNetworkStream:
        """Refuses: no page is behind a file."""
        raise RefusedAddress("a socket of this machine")

    async def sleep(self, seconds: float) -> None:
        """Waits, as httpcore wants it of a network."""
        await anyio.sleep(seconds)


async def _resolve(host: str, port: int, timeout: float | None) -> list[Ip]:
    try:
        with anyio.fail_after(timeout):
            found = await anyio.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
    except TimeoutError:
        raise httpcore.ConnectTimeout(f"{host}: no answer from the name service") from None
    except (OSError, UnicodeError) as error:
        raise httpcore.ConnectError(f"{host}: {error}") from None
    return list(dict.fromkeys(ipaddress.ip_address(place[4][0]) for place in found))
