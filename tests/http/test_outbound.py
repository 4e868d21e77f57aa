"""Requests to addresses that people wrote down: where they may go, and what is told of them."""

import asyncio
import socket
import ssl
from pathlib import Path

import pytest
from tests.http.test_client_side import OK, Endless, Scripted
from tests.kube.servers import Server

from reroll.http.addresses import is_forbidden
from reroll.http.errors import (
    BadRoute,
    Forbidden,
    HttpError,
    NoAnswer,
    NoProxy,
    NoServer,
    ProxyRefused,
    Untrusted,
)
from reroll.http.fetch import Outgoing, Route, send
from reroll_dev import pki

DIRECT = Route({})
SECRET = "s3cr3t"


async def test_an_answer_comes_with_its_status_and_headers_and_body():
    answer = b"HTTP/1.1 429 Slow down\r\nRetry-After: 7\r\nContent-Length: 2\r\n\r\nno"
    async with Scripted(answer) as server:
        request = Outgoing("POST", f"{server.url}/a?b=c", (("X-Mine", "1"),), b"{}")
        got = await send(request, DIRECT)

    assert (got.status, got.body, got.is_whole) == (429, b"no", True)
    assert got.headers["retry-after"] == "7"
    head = server.heads[0]
    assert head.startswith("POST /a?b=c HTTP/1.1\r\n")
    assert "X-Mine: 1\r\n" in head
    assert "Content-Length: 2\r\n" in head


async def test_a_redirect_is_an_answer_and_is_not_followed():
    async with Scripted(OK) as other:
        there = f"HTTP/1.1 307 No\r\nLocation: {other.url}\r\nContent-Length: 0\r\n\r\n"
        async with Scripted(there.encode()) as server:
            got = await send(Outgoing("GET", server.url), DIRECT)
    assert got.status == 307
    assert other.heads == []


async def test_of_an_endless_answer_no_more_is_read_than_is_wanted():
    async with Endless() as server:
        got = await send(Outgoing("GET", server.url), Route({}, largest=1000))
        assert (len(got.body), got.is_whole) == (1000, False)


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254",
        "fe80::1",
        "fd00:ec2::254",
        "fd00:c1::a9fe:a9fe",
        "fd00:42::42",
        "100.100.100.200",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "2002:a9fe:a9fe::1",
        "::169.254.169.254",
        "2852039166",
        "0xa9fea9fe",
        "169.254.43518",
        "0251.0376.0251.0376",
        "169.254.169.254.",
        "metadata.google.internal",
        "METADATA.google.internal.",
        "metadata.goog",
    ],
)
async def test_the_metadata_of_a_cloud_is_never_asked(address):
    assert is_forbidden(address)
    host = f"[{address}]" if ":" in address else address
    proxied = Route({"HTTP_PROXY": "http://127.0.0.1:9"})
    for route in (DIRECT, proxied):
        with pytest.raises(Forbidden, match="link-local"):
            await send(Outgoing("GET", f"http://{host}/latest?{SECRET}"), route)


@pytest.mark.parametrize(
    "address", ["10.0.0.1", "127.0.0.1", "64:ff9b::a00:1", "prometheus", "metadata.shop"]
)
def test_what_is_in_a_cluster_may_be_asked(address):
    assert not is_forbidden(address)


async def test_nor_by_a_name_that_leads_there(monkeypatch):
    async def looked_up(host, port, **_):
        addresses = ["127.0.0.1", "169.254.169.254"]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port)) for each in addresses]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", looked_up)
    with pytest.raises(Forbidden, match=r"metrics\.example:80 leads to"):
        await send(Outgoing("GET", "http://metrics.example/"), DIRECT)


async def test_what_was_looked_up_is_what_is_connected_to(monkeypatch):
    asked = []

    async def looked_up(host, port, **_):
        asked.append(host)
        here = "127.0.0.1" if asked.count("metrics.example") == 1 else "169.254.169.254"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (here, port))]

    async with Scripted(OK) as server:
        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", looked_up)
        url = f"http://metrics.example:{server.port}/"
        assert (await send(Outgoing("GET", url), DIRECT)).status == 200
    assert asked.count("metrics.example") == 1
    assert f"Host: metrics.example:{server.port}\r\n" in server.heads[0]


async def test_the_next_address_of_a_name_is_tried_when_one_does_not_answer(monkeypatch):
    async def looked_up(host, port, **_):
        addresses = ["127.0.0.2", "127.0.0.1"]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port)) for each in addresses]

    async with Scripted(OK) as server:
        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", looked_up)
        url = f"http://metrics.example:{server.port}/"
        assert (await send(Outgoing("GET", url), DIRECT)).status == 200


async def test_a_proxy_of_the_environment_is_gone_through():
    async with Scripted(OK) as proxy:
        env = {"HTTP_PROXY": f"http://127.0.0.1:{proxy.port}"}
        got = await send(Outgoing("GET", "http://far.example/x"), Route(env))
        assert got.status == 200
    assert proxy.heads[0].startswith("GET http://far.example:80/x HTTP/1.1\r\n")


async def test_what_a_proxy_refused_never_got_through():
    refused = Scripted(b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n")
    async with refused:
        env = {"HTTPS_PROXY": f"http://127.0.0.1:{refused.port}"}
        with pytest.raises(ProxyRefused, match="status 403"):
            await send(Outgoing("POST", f"https://far.example/{SECRET}"), Route(env))
    with pytest.raises(NoProxy, match=r"proxy: cannot connect to 127\.0\.0\.1") as problem:
        await send(Outgoing("POST", f"https://far.example/{SECRET}"), Route(env))
    assert SECRET not in str(problem.value)


async def test_a_file_says_whom_to_trust(tmp_path):
    authority = pki.new_authority()
    pair = pki.server_certificate(authority)
    (tmp_path / "ca.crt").write_bytes(authority.certificate)
    (tmp_path / "shown.pem").write_bytes(pair.certificate + pair.key)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(tmp_path / "shown.pem")
    async with Scripted(OK, tls=tls) as server:
        request = Outgoing("GET", server.url)
        with pytest.raises(Untrusted, match="certificate of 127"):
            await send(request, DIRECT)
        assert (await send(request, Route({}, tmp_path / "ca.crt"))).status == 200


class Slow(Server):
    async def serve(self, reader, writer):
        await asyncio.Event().wait()


class Cut(Server):
    async def serve(self, reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nab")
        await writer.drain()


@pytest.mark.parametrize(
    ("server", "kind", "text"),
    [
        (Slow(), NoAnswer, "no answer from 127.0.0.1:{port} within 0.2 s"),
        (Cut(), NoAnswer, "127.0.0.1:{port}: the answer was cut short"),
        (Scripted(b"SSH-2.0\r\n\r\n"), NoAnswer, "127.0.0.1:{port}: the answer is not HTTP"),
    ],
    ids=["slow", "cut", "not HTTP"],
)
async def test_what_goes_wrong_names_the_host_and_nothing_else(server, kind, text):
    async with server:
        url = f"{server.url}/{SECRET}?token={SECRET}"
        seconds = 0.2 if isinstance(server, Slow) else 30
        with pytest.raises(HttpError) as problem:
            await send(
                Outgoing("POST", url, (("X", SECRET),), SECRET.encode()), Route({}, None, seconds)
            )
    assert str(problem.value) == text.format(port=server.port)
    assert type(problem.value) is kind


async def test_nobody_there_names_the_host_and_nothing_else():
    async with Scripted(OK) as server:
        url = f"{server.url}/{SECRET}"
    with pytest.raises(NoServer, match=r"cannot connect to 127\.0\.0\.1:\d+: .*refused$"):
        await send(Outgoing("GET", url), DIRECT)


@pytest.mark.parametrize(
    ("request_", "route"),
    [
        (Outgoing("GET", f"ftp://x/{SECRET}"), DIRECT),
        (Outgoing("GET", f"http://me:{SECRET}@127.0.0.1/"), DIRECT),
        (Outgoing("GET", f"http://x:99999/{SECRET}"), DIRECT),
        (Outgoing("GET", f"http://x:{SECRET}"), DIRECT),
        (Outgoing("GET", f"http://hooks.example\\services\\{SECRET}"), DIRECT),
        (Outgoing("GET", f"http://127.0.0.1:1/\u2603{SECRET}"), DIRECT),
        (Outgoing("GET", f"http://127.0.0.1:1/{SECRET}\r\nX: y"), DIRECT),
        (Outgoing("GET", "http://far.example/"), Route({"HTTP_PROXY": f"socks5://a:{SECRET}@b"})),
        (Outgoing("GET", "https://far.example/"), Route({}, ca_file=Path("/does/not/exist"))),
    ],
    ids=["scheme", "user", "port", "no port", "backslashes", "snow", "line break", "proxy", "file"],
)
async def test_what_cannot_be_asked_is_a_sentence_without_the_address(request_, route):
    with pytest.raises(HttpError) as problem:
        await send(request_, route)
    assert SECRET not in str(problem.value)
    assert SECRET not in repr(request_)
    assert isinstance(problem.value, BadRoute | NoServer)
