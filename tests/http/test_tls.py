"""Connections with TLS: few handshakes at once, and one address does not keep another waiting."""

import asyncio
import ssl

import pytest
from tests.http.test_server_side import HELLO, TABLE, echo, end, talk
from tests.kube.servers import drop, server_tls

from reroll.http import tls
from reroll.http.server import Server, routes


async def test_who_does_not_shake_hands_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(tls, "HANDSHAKE", 0.1)
    server = Server("127.0.0.1:0", echo, trust=server_tls)
    await server.start()
    assert await talk(server, b"") == b""
    await server.stop()


@pytest.fixture
async def secured():
    context = server_tls()
    made = Server("127.0.0.1:0", routes(TABLE), trust=lambda: context)
    await made.start()
    yield made
    await made.stop()


async def greet(server, address):
    """Whether an answer comes over TLS, to a caller from this address of our own machine."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", server.port, local_addr=(address, 0), ssl=context
    )
    writer.write(HELLO)
    got = await asyncio.wait_for(reader.readuntil(b"hi"), 30)
    await drop(writer)
    return b" 200 " in got


async def silent(server, address, count):
    """Connections from an address that send nothing; the server has accepted them all."""
    made = [
        await asyncio.open_connection("127.0.0.1", server.port, local_addr=(address, 0))
        for _ in range(count)
    ]
    acceptor = server._acceptor
    async with asyncio.timeout(30):
        while acceptor.waiting + len(acceptor._running) < count:
            await asyncio.sleep(0)
    return made


async def test_one_address_has_few_handshakes_at_once_and_others_do_not_wait_for_it(secured):
    held = await silent(secured, "127.0.0.2", 3 * tls.OF_ONE)
    acceptor = secured._acceptor
    assert list(acceptor._running.values()) == ["127.0.0.2"] * tls.OF_ONE
    assert acceptor.waiting == 2 * tls.OF_ONE

    assert await greet(secured, "127.0.0.1")
    assert list(acceptor._running.values()) == ["127.0.0.2"] * tls.OF_ONE

    for _, writer in held[: tls.OF_ONE]:
        await drop(writer)
    async with asyncio.timeout(30):
        while acceptor.waiting != tls.OF_ONE:
            await asyncio.sleep(0)
    assert list(acceptor._running.values()) == ["127.0.0.2"] * tls.OF_ONE
    for _, writer in held:
        await drop(writer)


async def test_many_addresses_with_all_handshakes_do_not_keep_another_out(secured, monkeypatch):
    monkeypatch.setattr(tls, "HANDSHAKES", 3)
    held = [one for i in (2, 3, 4) for one in await silent(secured, f"127.0.0.{i}", 1)]
    assert len(secured._acceptor._running) == 3

    assert await greet(secured, "127.0.0.1")

    assert await end(held[0][0]) == b""
    for _, writer in held:
        await drop(writer)


async def test_who_lets_most_connections_wait_for_a_handshake_loses_them(secured, monkeypatch):
    monkeypatch.setattr(tls, "WAITING", 2)
    monkeypatch.setattr(tls, "OF_ONE", 1)
    first = await silent(secured, "127.0.0.2", 3)
    async with asyncio.timeout(30):
        more = await asyncio.open_connection("127.0.0.1", secured.port, local_addr=("127.0.0.2", 0))
        assert await end(first[1][0]) == b""  # the oldest that waits
    assert secured._acceptor.waiting == 2
    assert await greet(secured, "127.0.0.1")
    for _, writer in (*first, more):
        await drop(writer)


async def test_a_server_with_handshakes_under_way_stops(secured):
    held = await silent(secured, "127.0.0.2", 2 * tls.OF_ONE)
    await asyncio.wait_for(secured.stop(), 30)
    for reader, writer in held:
        assert await end(reader) == b""
        await drop(writer)
