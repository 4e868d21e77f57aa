"""What other programs say: output of exec plugins, and bytes that come in at our own ports."""

import asyncio
from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.fuzz.mutate import bodies, cut, encode
from tests.fuzz.profile import fuzz
from tests.fuzz.seeded import just
from tests.kube.fakes import StillClock
from tests.kube.servers import drop

from reroll.http.server import Asked, Reply, Server, routes
from reroll.kube.auth import Connection, Route
from reroll.kube.credentials import Credential
from reroll.kube.errors import AuthError
from reroll.kube.kubeconfig import Exec
from reroll.kube.plugin import VERSIONS, Plugin

# Exec plugins

CREDENTIALS = just(
    {
        "apiVersion": VERSIONS[0],
        "kind": "ExecCredential",
        "status": {
            "token": "a-token",
            "clientCertificateData": "-----BEGIN CERTIFICATE-----",
            "clientKeyData": "-----BEGIN PRIVATE KEY-----",
            "expirationTimestamp": "2026-05-05T05:05:05Z",
        },
    }
)
TIMES = st.sampled_from(
    ["0001-01-01T00:00:00Z", "0001-01-01T00:00:05+00:00", "9999-12-31T23:59:59-23:59",
     "2026-05-05T05:05:05", "2026-05-05T05:05:05.123456789Z"]
)  # fmt: skip
TOKENS = st.sampled_from(["a\r\nX-Odd: 1", "a\nb", "\x00", "é", "日本", " ", "a" * 100_000, "\x7f"])


def credential(token: str, expires: str) -> bytes:
    status = {"token": token, "expirationTimestamp": expires}
    return encode({"apiVersion": VERSIONS[0], "status": status})


class Printing(Plugin):
    """A plugin whose output is given."""

    output = b""

    async def _output(self) -> bytes:
        return self.output


@fuzz
@given(bodies(CREDENTIALS) | st.builds(credential, TOKENS | st.just("good"), TIMES))
def test_outputs_of_exec_plugins(output: bytes) -> None:
    plugin = Printing(Exec("login", VERSIONS[0]), "me", {}, {}, StillClock())
    plugin.output = output

    async def use() -> Credential:
        connection = Connection(Route("http://127.0.0.1:1"), plugin, None)
        first = (await connection.access()).credential
        await connection.access()  # It is asked whether the one before is still good.
        return first

    with suppress(AuthError):
        found = asyncio.run(use())
        assert found.token or found.certificate
        assert found.token.isascii()
        assert found.token.isprintable()


# The small server

METHODS = st.sampled_from([b"GET", b"POST", b"HEAD", b"PUT", b"OPTIONS", b"CONNECT", b"get", b""])
PATHS = st.sampled_from(
    [b"/hello", b"/echo", b"/", b"*", b"http://x/hello", b"/hello?a=b#c", b"//hello", b"/%00",
     b"/\xff", b"/" + b"a" * 70_000, b"", b" "]
)  # fmt: skip
VERSION_TEXTS = st.sampled_from([b"HTTP/1.1", b"HTTP/1.0", b"HTTP/2.0", b"HTTP/9.9", b"HTTX", b""])
HEADERS = st.sampled_from(
    [b"Host: x", b"Content-Length: 4", b"Content-Length: -1", b"Content-Length: " + b"9" * 19,
     b"Content-Length: 4\r\nContent-Length: 5", b"Transfer-Encoding: chunked",
     b"Transfer-Encoding: chunked\r\nContent-Length: 4", b"Transfer-Encoding: gzip, chunked",
     b"Connection: close", b"Connection: upgrade\r\nUpgrade: h2c", b"Expect: 100-continue",
     b"Expect: 100-continue\r\nContent-Length: 4", b" folded", b": no name", b"no colon",
     b"A: \x00", b"A: " + b"b" * 70_000, b"\xff: \xff"]
)  # fmt: skip
BODIES = st.sampled_from(
    [b"", b"body", b"4\r\nbody\r\n0\r\n\r\n", b"ffffffffffffffff\r\n", b"-1\r\n", b"0\r\n\r\n",
     b"4;x=y\r\nbody\r\n0\r\nTrailer: x\r\n\r\n", b"x" * 5000, b"\r\n\r\n"]
)  # fmt: skip
ENDS = st.sampled_from([b"\r\n", b"\n", b"\r", b""])


@st.composite
def requests(draw: st.DrawFn) -> bytes:
    """One that is almost right, or several after each other."""
    found = b""
    for _ in range(draw(st.integers(1, 3))):
        end = draw(st.just(b"\r\n") | ENDS)
        words = (draw(st.just(b"GET") | METHODS), draw(PATHS), draw(VERSION_TEXTS))
        lines = [b" ".join(words), *draw(st.lists(HEADERS, max_size=3)), b"", draw(BODIES)]
        found += end.join(lines)
    return found


def answer(asked: Asked) -> Reply:
    assert asked.method.isascii()
    assert "?" not in asked.path
    return Reply(body=asked.body)


TABLE = {("GET", "/hello"): answer, ("POST", "/echo"): answer}
STATUSES = (100, 200, 400, 404, 405, 413, 431)


@fuzz
@given(cut(requests()) | st.binary(max_size=200), st.integers(1, 50))
def test_bytes_for_the_small_server(sent: bytes, pieces: int) -> None:
    troubles: list[dict[str, Any]] = []

    async def talk(server: Server, data: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        size = len(data) // pieces + 1
        try:
            with suppress(OSError):  # It may hang up on us.
                for start in range(0, len(data), size):
                    writer.write(data[start : start + size])
                    await writer.drain()
                    await asyncio.sleep(0)
                writer.write_eof()
                return await reader.read()
            return b""
        finally:
            await drop(writer)

    async def converse() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, told: troubles.append(told))
        server = Server("127.0.0.1:0", routes(TABLE), largest=1000)
        await server.start()
        try:
            said = await talk(server, sent)
            assert not said or said.startswith(b"HTTP/1.1 ")
            assert not said or int(said.split()[1]) in STATUSES
            good = await talk(server, b"GET /hello HTTP/1.1\r\nConnection: close\r\n\r\n")
            assert good.startswith(b"HTTP/1.1 200 OK\r\n")
            assert server._room.held == 0
        finally:
            await server.stop()

    asyncio.run(converse())
    assert troubles == []
