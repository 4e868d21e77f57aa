"""The small server: answers what it is asked, and turns away what it cannot."""

import asyncio
import contextlib

import pytest
from tests.kube.servers import drop

from reroll.http import server as http_server
from reroll.http.connection import LONGEST_HEAD
from reroll.http.dial import Address
from reroll.http.pool import Pool
from reroll.http.server import BODIES, Asked, Reply, Server, routes


def echo(asked: Asked) -> Reply:
    return Reply(body=asked.body)


def broken(_: Asked) -> Reply:
    raise RuntimeError("our bug")


TABLE = {
    ("GET", "/hello"): lambda _: Reply(body=b"hi"),
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
        return await (reader.readuntil(until) if until else reader.read())
    finally:
        await drop(writer)


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


async def test_an_endless_head_is_not_waited_for(server):
    got = b""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b"GET /hello HTTP/1.1\r\nX: " + b"x" * LONGEST_HEAD)
    with contextlib.suppress(ConnectionError):
        got = await asyncio.wait_for(reader.read(), 30)
    await drop(writer)

    assert b" 200 " not in got


async def test_who_holds_connections_open_keeps_nobody_out(server, monkeypatch):
    monkeypatch.setattr(http_server, "MOST", 3)
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


async def test_bodies_that_never_end_take_no_more_memory_than_a_few(server):
    begun = b"POST /echo HTTP/1.1\r\nContent-Length: 10\r\n\r\n123456789"
    held = []
    for _ in range(BODIES):
        held.append(await asyncio.open_connection("127.0.0.1", server.port))
        held[-1][1].write(begun)
    ask = b"POST /echo HTTP/1.1\r\nContent-Length: 8\r\nConnection: close\r\n\r\n12345678"
    while b" 503 " not in await talk(server, ask):
        await asyncio.sleep(0.01)

    for _, writer in held:
        await drop(writer)
    while b" 200 " not in await talk(server, ask):
        await asyncio.sleep(0.01)


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
