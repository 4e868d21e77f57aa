"""Requests: what goes out, what comes back, and what is kept for the next one."""

import asyncio
import ssl

import pytest
from tests.kube.servers import Server, server_tls

from reroll.http import dial
from reroll.http.connection import HIGH, LONGEST_HEAD
from reroll.http.dial import Address, proxy_credentials
from reroll.http.errors import Closed, Garbled, NoServer, Untrusted
from reroll.http.fetch import fetch
from reroll.http.pool import Pool

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX: y\r\n\r\n2\r\nok\r\n"


class Scripted(Server):
    """Answers each request with the next of these; `None`: closes the connection instead."""

    def __init__(self, *answers, tls=None):
        self.answers, self.tls = list(answers), tls
        self.heads, self.connections = [], 0

    async def serve(self, reader, writer):
        self.connections += 1
        while True:
            self.heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            if answer is None:
                return
            writer.write(answer)
            await writer.drain()

    def pool(self, **more):
        return Pool(Address.of(self.url), **more)


async def ask(pool, method="GET", body=None, trust=None):
    answer = await pool.ask(method, "/x", body=body, trust=trust)
    try:
        return answer.status, await answer.body()
    finally:
        pool.keep(answer, trust)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n1;x=y\r\nk\r\n0\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" + OK,
        b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + OK,
        b"HTTP/1.1 200\r\ncontent-length: 2\r\n\r\nok",
    ],
    ids=["in chunks", "after 100", "after 103", "without a phrase"],
)
async def test_an_answer_is_read_whole_and_the_connection_used_again(answer):
    async with Scripted(answer) as server:
        pool = server.pool()
        assert [await ask(pool) for _ in range(3)] == [(200, b"ok")] * 3
        assert server.connections == 1
        pool.close()


async def test_an_answer_that_comes_after_the_end_leaves_no_connection_open():
    async with Scripted(OK) as server:
        pool = server.pool()
        answer = await pool.ask("GET", "/x")
        await answer.body()
        pool.close()
        pool.keep(answer, None)
        assert answer.transport.is_closing()


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
    ],
)
async def test_a_server_that_wants_no_more_requests_gets_none(answer):
    async with Scripted(answer) as server:
        pool = server.pool()
        assert [await ask(pool) for _ in range(2)] == [(200, b"ok")] * 2
        assert server.connections == 2


class UntilTheEnd(Server):
    async def serve(self, reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\nok")
        await writer.drain()
        writer.write_eof()
        await reader.read()


async def test_a_body_without_a_length_ends_with_the_connection():
    async with UntilTheEnd() as server:
        assert await fetch("GET", server.url, seconds=30) == (200, b"ok")


async def test_what_only_reads_is_asked_again_when_a_kept_connection_was_closed():
    async with Scripted(OK, None, OK) as server:
        pool = server.pool()
        assert await ask(pool) == (200, b"ok")
        assert await ask(pool) == (200, b"ok")
        assert server.connections == 2
        pool.close()


async def test_what_writes_is_not():
    async with Scripted(OK, None, OK) as server:
        pool = server.pool()
        await ask(pool)
        with pytest.raises(Closed, match="without an answer"):
            await ask(pool, "PATCH", b"{}")
        assert [head.split()[0] for head in server.heads] == ["GET", "PATCH"]


async def test_a_new_connection_that_is_closed_is_not_tried_again():
    async with Scripted(None) as server:
        with pytest.raises(Closed):
            await ask(server.pool())
        assert server.connections == 1


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (b"SSH-2.0-OpenSSH\r\n\r\n", "not HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "not HTTP"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * LONGEST_HEAD, "too long"),
        (b"HTTP/1.1 103 Early Hints\r\n\r\n" * LONGEST_HEAD, "too long"),
        (CHUNKED + b"0\r\nX: " + b"x" * 10 * LONGEST_HEAD, "too long"),
        (CHUNKED + b"1;x=" + b"x" * 10 * LONGEST_HEAD, "too long"),
    ],
    ids=["not HTTP", "no length", "head", "hints", "trailers", "extension of a chunk"],
)
async def test_what_is_no_answer_is_told_and_ends_the_connection(answer, problem):
    async with Scripted(answer) as server:
        with pytest.raises(Garbled, match=problem):
            await asyncio.wait_for(ask(server.pool()), 30)


async def test_what_follows_a_body_is_none_of_its_headers():
    async with Scripted(CHUNKED + b"0\r\nX: late\r\nY: late\r\n\r\n") as server:
        pool = server.pool()
        answer = await pool.ask("GET", "/x")
        assert await answer.body() == b"ok"
        assert answer.headers == {"transfer-encoding": "chunked", "x": "y"}
        assert answer.is_reusable
        answer.drop()


async def test_bytes_that_nobody_asked_for_end_the_connection():
    async with Scripted(OK + b"HTTP/1.1 200 OK\r\n\r\n", OK) as server:
        pool = server.pool()
        assert await ask(pool) == (200, b"ok")
        assert await ask(pool) == (200, b"ok")
        assert server.connections == 2
        pool.close()


class Endless(Server):
    """Sends as much as it can, and counts."""

    sent = 0

    async def serve(self, reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            writer.write(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
            await writer.drain()
            self.sent += 0x10000


async def test_who_reads_slowly_stops_the_server_and_not_the_memory():
    async with Endless() as server:
        pool = Pool(Address.of(server.url))
        answer = await pool.ask("GET", "/")
        before = -1
        while before != server.sent:
            before = server.sent
            await asyncio.sleep(0.2)
        assert len(await answer.some()) < 3 * HIGH
        for _ in range(20):
            assert await answer.some()
        answer.drop()


async def test_a_line_break_in_a_header_is_refused():
    async with Scripted(OK) as server:
        with pytest.raises(ValueError, match="line break"):
            await server.pool().ask("GET", "/", [("X", "a\r\nY: b")])
        assert server.heads == []


async def test_who_is_not_trusted_is_told_by_name():
    async with Scripted(OK, tls=server_tls()) as server:
        with pytest.raises(Untrusted, match=rf"certificate of 127\.0\.0\.1:{server.port} is not"):
            await ask(server.pool(), trust=ssl.create_default_context())


async def test_another_trust_is_another_connection():
    first, second = (ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) for _ in range(2))
    for each in (first, second):
        each.check_hostname, each.verify_mode = False, ssl.CERT_NONE
    async with Scripted(OK, tls=server_tls()) as server:
        pool = server.pool()
        for trust in (first, first, second):
            await ask(pool, trust=trust)
        assert server.connections == 2
        pool.close()


async def test_nobody_there_is_a_sentence():
    async with Scripted(OK) as server:
        url = server.url
    with pytest.raises(NoServer, match=r"cannot connect to 127\.0\.0\.1:\d+: .*refused"):
        await fetch("GET", url, seconds=30)


class Plain(Server):
    async def serve(self, reader, writer):
        writer.write(OK)
        await reader.read()


async def test_a_server_that_never_says_hello_is_a_sentence(monkeypatch):
    monkeypatch.setattr(dial, "TIMEOUT", 0.1)

    class Mute(Server):
        async def serve(self, reader, writer):
            await asyncio.Event().wait()

    async with Mute() as server:
        pool = Pool(Address("127.0.0.1", server.port))
        with pytest.raises(NoServer, match=r"cannot connect to 127.0.0.1:\d+: no answer in 0.1 s"):
            await pool.ask("GET", "/", trust=ssl.create_default_context())


async def test_a_server_without_tls_is_a_sentence():
    async with Plain() as server:
        url = f"https://127.0.0.1:{server.port}/"
        with pytest.raises(NoServer, match=r"cannot connect to .*: TLS failed: \w+( \w+)+$"):
            await fetch("GET", url, seconds=30)


@pytest.mark.parametrize("url", ["ftp://x/", "nonsense", "http://"])
async def test_what_is_no_url_is_a_sentence(url):
    with pytest.raises(ValueError, match="is not an http:// or https:// URL"):
        await fetch("GET", url, seconds=30)


async def test_a_request_through_a_proxy_without_tls_says_where_it_goes():
    async with Scripted(OK) as proxy:
        pool = Pool(Address("far.example", 8080, proxy=f"http://me:pa%3Ass@127.0.0.1:{proxy.port}"))
        assert await ask(pool) == (200, b"ok")
        pool.close()

    head = proxy.heads[0]
    assert head.startswith("GET http://far.example:8080/x HTTP/1.1\r\nHost: far.example:8080\r\n")
    assert f"Proxy-Authorization: {proxy_credentials('http://me:pa%3Ass@x')}\r\n" in head


def test_addresses_with_colons_are_written_in_brackets():
    assert Address.of("https://[fd00::1]/").authority == "[fd00::1]:443"
    assert Address.of("http://host:81").authority == "host:81"
