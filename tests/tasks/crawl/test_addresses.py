"""Which machines may be asked."""

import asyncio
import ipaddress

import httpcore
import pytest

from tasks.crawl.addresses import CheckedNetwork, RefusedAddress, is_public


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1::1", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("172.16.0.1", False),
        ("192.168.1.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("255.255.255.255", False),
        ("::1", False),
        ("::", False),
        ("fe80::1", False),
        ("fc00::1", False),
        ("fec0::1", False),
        ("::ffff:127.0.0.1", False),
        ("::ffff:93.184.216.34", True),
        ("64:ff9b::7f00:1", False),
        ("2002:7f00:1::", False),
        ("2001:0:7f00:1::", False),
    ],
)
def test_only_the_open_internet_is_public(address, public):
    assert is_public(ipaddress.ip_address(address)) is public


def connect(network: CheckedNetwork, host: str, port: int) -> None:
    async def once() -> None:
        stream = await network.connect_tcp(host, port, timeout=5)
        await stream.aclose()

    asyncio.run(once())


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0", "2130706433", "0x7f.1", "[::1]"])
def test_no_spelling_of_this_machine_is_connected_to(host):
    with pytest.raises(RefusedAddress):
        connect(CheckedNetwork(), host, 80)


def test_a_local_source_opens_its_own_port_alone():
    async def serve_and_connect() -> None:
        server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        network = CheckedNetwork({("127.0.0.1", port)})
        await (await network.connect_tcp("127.0.0.1", port, timeout=5)).aclose()
        with pytest.raises(RefusedAddress):
            await network.connect_tcp("127.0.0.1", port + 1, timeout=5)
        with pytest.raises(RefusedAddress):
            await network.connect_tcp("localhost", port, timeout=5)
        server.close()

    asyncio.run(serve_and_connect())


def test_the_address_that_was_checked_is_the_one_connected_to(monkeypatch):
    """A name service that answers otherwise the second time gains nothing: it is asked once."""
    asked = []

    async def answers(host, port, **kinds):
        asked.append(host)
        return [(2, 1, 6, "", ("93.184.216.34" if len(asked) == 1 else "127.0.0.1", port))]

    connected = []

    async def connected_to(self, host, port, *more):
        connected.append(host)
        raise httpcore.ConnectError("no network in tests")

    monkeypatch.setattr("tasks.crawl.addresses.anyio.getaddrinfo", answers)
    monkeypatch.setattr(httpcore.AnyIOBackend, "connect_tcp", connected_to)
    with pytest.raises(httpcore.ConnectError):
        connect(CheckedNetwork(), "rebinding.example", 80)
    assert connected == ["93.184.216.34"]
    assert asked == ["rebinding.example"]
