"""How many connections a server has, and who has to go when there are more."""

import asyncio
import contextlib

import pytest
from tests.http.test_server_side import HELLO, TABLE, begun, end, talk
from tests.kube.servers import drop

from reroll.http.server import Server, routes


@pytest.fixture
async def server():
    made = Server("127.0.0.1:0", routes(TABLE), largest=10)
    await made.start()
    yield made
    await made.stop()


async def test_who_holds_connections_open_keeps_nobody_out(server):
    server._room.most = 3
    held = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(3)]
    for _, writer in held[1:]:
        writer.write(b"GET /hello HTTP/1.1\r\n")
    await asyncio.sleep(0)

    answers = [await talk(server, b"GET /hello HTTP/1.1\r\n\r\n", until=b"hi") for _ in range(5)]

    assert all(b" 200 " in answer for answer in answers)
    with contextlib.suppress(ConnectionError):
        assert await asyncio.wait_for(held[0][0].read(), 30) == b""
    for _, writer in held:
        await drop(writer)


async def test_who_asks_again_keeps_its_place(server):
    server._room.most = 2
    (first, asks), (second, waits) = [await begun(server, b"") for _ in range(2)]
    asks.write(HELLO)
    await first.readuntil(b"hi")

    third, newcomer = await begun(server, b"")
    assert await end(second) == b""
    for reader, writer in ((first, asks), (third, newcomer)):
        writer.write(HELLO)
        assert b" 200 " in await reader.readuntil(b"hi")
    for writer in (asks, waits, newcomer):
        await drop(writer)


async def test_who_says_little_does_not_keep_its_place(server):
    server._room.most = 2
    begin = b"POST /echo HTTP/1.1\r\n"
    (first, drips), (second, waits) = [await begun(server, begin) for _ in range(2)]
    drips.write(b"Expect: 100-continue\r\nX")
    await first.readuntil(b" 100 Continue\r\n\r\n")

    assert b" 200 " in await talk(server, HELLO, until=b"hi")
    assert await end(first) == b""
    waits.write(b"Content-Length: 1\r\n\r\nx")
    assert b" 200 " in await second.readuntil(b"x")
    for writer in (drips, waits):
        await drop(writer)


async def test_the_address_with_most_connections_loses_one_of_them(server):
    server._room.most = 4
    one, *crowd = [
        await asyncio.open_connection("127.0.0.1", server.port, local_addr=(address, 0))
        for address in ("127.0.0.2", *["127.0.0.3"] * 3)
    ]
    async with asyncio.timeout(30):
        while len(server._room.callers) < 4:
            await asyncio.sleep(0)

    assert b" 200 " in await talk(server, HELLO, until=b"hi")

    assert await end(crowd[0][0]) == b""
    for reader, writer in (one, *crowd[1:]):  # who came before the crowd stays
        writer.write(HELLO)
        assert b" 200 " in await reader.readuntil(b"hi")
    for _, writer in (one, *crowd):
        await drop(writer)
