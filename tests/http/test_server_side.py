"""The small server: answers what it is asked, and turns away what it cannot."""

import asyncio
import contextlib
import tracemalloc

import pytest
from tests.kube.servers import drop

from reroll.http import server as http_server
from reroll.http.connection import LONGEST_HEAD
from reroll.http.dial import Address
from reroll.http.pool import Pool
from reroll.http.server import BODIES, BURST, Asked, Reply, Server, routes

CHUNKED = b"POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
HELLO = b"GET /hello HTTP/1.1\r\n\r\n"


def echo(asked: Asked) -> Reply:
    return Reply(body=asked.body)


def broken(_: Asked) -> Reply:
    raise RuntimeError("our bug")


TABLE = {
    ("GET", "/hello"): lambda _: Reply(body=b"hi"),
    ("GET", "/large"): lambda _: Reply(body=bytes(2**25)),
    ("POST", "/echo"): echo,
    ("GET", "/bug"): broken,
}


@pytest.fixture
async def server():
    made = Server("127.0.0.1:0", routes(TABLE), largest=10)
    await made.start()
    yield made
    await made.stop()


async def talk(server, sent, until=b""):
    """What comes back to raw bytes, until these, or until the end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    try:
        writer.write(sent)
        return await asyncio.wait_for(reader.readuntil(until) if until else reader.read(), 30)
    finally:
        await drop(writer)


async def begun(server, sent):
    """A caller whose bytes the server has read, as it has answered what stood before them."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(HELLO + sent)
    await reader.readuntil(b"hi")
    return reader, writer


async def end(reader):
    """What comes until the server ends the connection, in whichever way."""
    with contextlib.suppress(ConnectionError):
        return await asyncio.wait_for(reader.read(), 30)
    return b""


@pytest.mark.parametrize(
    ("method", "target", "body", "status", "answer"),
    [
        ("GET", "/hello", None, 200, b"hi"),
        ("GET", "/hello?x=y", None, 200, b"hi"),
        ("POST", "/echo", b"ten bytes!", 200, b"ten bytes!"),
        ("POST", "/hello", b"", 405, b"Method Not Allowed\n"),
        ("GET", "/nowhere", None, 404, b"Not Found\n"),
    ],
)
async def test_a_question_is_answered(server, method, target, body, status, answer):
    pool = Pool(Address("127.0.0.1", server.port))
    for _ in range(2):
        got = await pool.ask(method, target, body=body)
        assert (got.status, await got.body()) == (status, answer)
        assert got.is_reusable
        pool.keep(got, None)
    pool.close()


async def test_head_is_get_without_a_body(server):
    got = await talk(server, b"HEAD /hello HTTP/1.1\r\nConnection: close\r\n\r\n")

    assert got.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"Content-Length: 2\r\n" in got
    assert got.endswith(b"\r\n\r\n")


async def test_several_questions_at_once_are_answered_in_order(server):
    asked = b"POST /echo HTTP/1.1\r\nContent-Length: 1\r\n\r\n%c"
    got = await talk(server, b"".join(asked % letter for letter in b"xyz"), until=b"z")

    bodies = [part[:1] for part in got.split(b"\r\n\r\n")[1:]]
    assert bodies == [b"x", b"y", b"z"]


async def test_who_asks_too_much_at_once_has_to_connect_again(server):
    got = await talk(server, HELLO * 3 * BURST)

    answers = got.split(b"HTTP/1.1 200 OK\r\n")[1:]
    assert [b"Connection: close\r\n" in each for each in answers] == [False] * (BURST - 1) + [True]


async def test_who_asks_one_after_the_other_may_go_on(server):
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    for _ in range(3 * BURST):
        writer.write(HELLO)
        assert b"Connection: close" not in await reader.readuntil(b"hi")
    await drop(writer)


async def test_who_asks_first_may_send(server):
    head = b"POST /echo HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(head)
    assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    writer.write(b"ok")
    assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200 OK")
    await drop(writer)


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"POST /echo HTTP/1.1\r\nContent-Length: 11\r\n\r\n" + b"x" * 11, 413),
        (b"GET /hello HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n", 400),
    ],
)
async def test_what_cannot_be_answered_is_turned_away(server, sent, status):
    got = await talk(server, sent)

    assert b"HTTP/1.1 %d " % status in got
    assert b"Connection: close\r\n" in got


@pytest.mark.parametrize(
    "start",
    [
        b"GET /hello HTTP/1.1\r\nX: ",
        CHUNKED + b"1\r\nx\r\n0\r\nX: ",
        CHUNKED + b"1\r\nx\r\n1;x=",
    ],
    ids=["head", "trailers", "extension of a chunk"],
)
async def test_what_is_endless_around_a_body_is_not_waited_for(server, start):
    reader, writer = await begun(server, start)
    writer.write(b"x" * (LONGEST_HEAD + 1))
    got = await end(reader)
    await drop(writer)

    assert got.startswith(b"HTTP/1.1 431 ")


async def test_a_body_in_small_chunks_takes_little_more_than_its_size():
    size = 2**16
    server = Server("127.0.0.1:0", echo, largest=size)
    await server.start()
    sent = CHUNKED + b"2\r\nxx\r\n" * (size // 2)
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    tracemalloc.start()
    try:
        writer.write(sent)
        async with asyncio.timeout(30):
            while server._room.held < size:
                await asyncio.sleep(0)
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert size < taken < 4 * size

    writer.write(b"0\r\n\r\n")
    await reader.readuntil(b"x" * size)
    assert server._room.held == 0
    await drop(writer)
    await server.stop()


async def test_who_drips_a_request_is_not_waited_for(server, monkeypatch):
    monkeypatch.setattr(http_server, "DEADLINE", 0.1)
    _, writer = await begun(server, b"GET /hello HTTP/1.1\r\nX: ")

    async def drip():
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.01)

    with pytest.raises(ConnectionError):
        await asyncio.wait_for(drip(), 30)
    await drop(writer)


@pytest.mark.parametrize("sent", [b"", b"\r\n", HELLO], ids=["nothing", "no request", "one"])
async def test_who_is_silent_is_not_waited_for(server, monkeypatch, sent):
    monkeypatch.setattr(http_server, "PATIENCE", 0.1)
    await talk(server, sent)


@pytest.mark.parametrize("more", [b"", b"Connection: close\r\n"], ids=["stays", "goes"])
async def test_who_does_not_read_its_answer_is_not_waited_for(server, monkeypatch, more):
    monkeypatch.setattr(http_server, "PATIENCE", 0.1)
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b"GET /large HTTP/1.1\r\n" + more + b"\r\n")
    async with asyncio.timeout(30):
        await reader.readuntil(b"\r\n\r\n")
        while server._room.callers:
            await asyncio.sleep(0.01)
    assert len(await end(reader)) < 2**25
    await drop(writer)


async def test_of_answers_that_are_not_read_few_are_held(server):
    large = b"GET /large HTTP/1.1\r\n\r\n"
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(large * (BURST - 1))
    got = await asyncio.wait_for(reader.read(), 60)
    assert got.count(b"HTTP/1.1 200 OK\r\n") == 2
    await drop(writer)


async def test_bodies_that_never_end_take_no_more_memory_than_a_few(server):
    begin = b"POST /echo HTTP/1.1\r\nContent-Length: 10\r\n\r\n123456789"
    held = [await begun(server, begin) for _ in range(BODIES)]
    ask = b"POST /echo HTTP/1.1\r\nContent-Length: 8\r\n\r\n12345678"

    assert b" 200 " in await talk(server, ask, until=b"12345678")
    (oldest, _), *others = held
    assert b" 503 " in await end(oldest)
    for reader, writer in others:
        writer.write(b"0")
        assert b" 200 " in await reader.readuntil(b"1234567890")
    for _, writer in held:
        await drop(writer)


async def test_who_has_held_a_body_for_longest_gets_no_room_for_more(server):
    begin = b"POST /echo HTTP/1.1\r\nContent-Length: 9\r\n\r\n12345678"
    (first, more), *others = [await begun(server, begin) for _ in range(BODIES + 1)]
    more.write(b"9")

    assert b" 503 " in await end(first)
    for reader, writer in others:
        writer.write(b"9")
        assert b" 200 " in await reader.readuntil(b"123456789")
        await drop(writer)
    await drop(more)


async def test_a_bug_in_an_answer_is_told_and_harms_nobody_else(server):
    told = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
    got = await talk(server, b"GET /bug HTTP/1.1\r\n\r\n")

    assert got.startswith(b"HTTP/1.1 500 ")
    assert [str(each["exception"]) for each in told] == ["our bug"]
    assert b"hi" in await talk(server, b"GET /hello HTTP/1.1\r\nConnection: close\r\n\r\n")


async def test_it_stops_with_connections_open(server):
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b"GET /hello HTTP/1.1\r\n\r\n")
    await reader.readuntil(b"hi")

    await asyncio.wait_for(server.stop(), 30)
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", server.port)
    await drop(writer)


async def test_a_taken_address_is_an_error(server):
    with pytest.raises(OSError, match="in use"):
        await Server(f"127.0.0.1:{server.port}", echo).start()
