"""Where nobody is known; the names under which it answers; and the socket."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from tests.dashboard.doors import HOSTS, PUBLIC, WORKLOAD, Server, post, visit
from tests.dashboard.hosted import running
from tests.support.dashboard import served

from reroll.dashboard import protocol
from reroll.dashboard.doors.nobody import NobodyDoor
from reroll.dashboard.doors.token import TokenDoor
from reroll.dashboard.hosts import HostError, Hosts, public
from reroll.dashboard.people import Who
from reroll.dashboard.rendering import sign_in_page
from reroll.dashboard.security import BY_HTTPS_ALONE
from reroll.dashboard.sessions import Sessions
from reroll_dev import pki

# Nobody


async def test_nobody_in_particular_looks_and_does_nothing() -> None:
    async with visit(NobodyDoor, read_only=True) as here:
        text = (await here.get("/workload/Deployment/shop/stock")).text
        assert "/do/" not in text
        assert "Sign out" not in text
        assert (await post(here, "/do/hold", **WORKLOAD)).status_code == 303
        assert (await post(here, "/sign-out")).status_code == 404
        assert here.cluster.done == []


# Names


@pytest.mark.parametrize("host", ["evil.example", "reroll.example.com:8443", "localhost.evil", ""])
async def test_other_names_are_refused_whoever_asks(host: str) -> None:
    async with visit(NobodyDoor) as here:
        assert (await here.get("/", host=host)).status_code == 421
        assert (await here.get("/healthz", host=host)).text == "ok", "but the kubelet has no name"


@pytest.mark.parametrize("origin", ["http://reroll.example.com", "https://evil.example", "null"])
async def test_the_origin_is_that_of_the_public_address(origin: str) -> None:
    async with visit(NobodyDoor) as here:
        assert (await here.get("/", origin=origin)).status_code == 403
        assert (await here.get("/", origin=PUBLIC)).status_code == 200


def test_addresses_are_written_as_browsers_write_them() -> None:
    urls = ["https://Reroll.example.com:443/", "http://a:8080", "https://[fd00::1]"]
    assert public(urls) == {"https://reroll.example.com", "http://a:8080", "https://[fd00::1]"}
    for url in ("reroll.example.com", "https://a/b", "ftp://a", "https://a:x", "https://u@a"):
        with pytest.raises(HostError, match="without a path"):
            public([url])


# The socket


@asynccontextmanager
async def plain(port: int) -> AsyncIterator[Any]:
    async with running(port=port, door=NobodyDoor, hosts=HOSTS) as one:
        yield one.app


def test_a_head_without_end_and_a_connection_that_says_nothing_are_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(protocol.Patient, "within", 0.2)
    options = {"http": protocol.Patient, "h11_max_incomplete_event_size": protocol.LONGEST_HEAD}
    with served(plain, **options) as url:
        port = int(url.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=20) as silent:
            assert silent.recv(100) == b"", "it was closed"
        with socket.create_connection(("127.0.0.1", port), timeout=20) as slow:
            slow.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ")
            assert slow.recv(100) == b""
        with socket.create_connection(("127.0.0.1", port), timeout=20) as large:
            large.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 40_000)
            assert b"400" in large.recv(100)
        answer = httpx.get(f"{url}/healthz", trust_env=False)
        assert answer.status_code == 200


def test_with_a_certificate_it_is_https_and_cookies_are_for_that_alone(tmp_path: Path) -> None:
    authority = pki.new_authority()
    pair = pki.server_certificate(authority)
    files = {"ssl_certfile": tmp_path / "tls.crt", "ssl_keyfile": tmp_path / "tls.key"}
    for file, content in zip(files.values(), (pair.certificate, pair.key), strict=True):
        file.write_bytes(content)

    @asynccontextmanager
    async def make(port: int) -> AsyncIterator[Any]:
        hosts = Hosts(frozenset(), "https", is_forwarded=True)

        def door(sessions: Sessions) -> TokenDoor:
            return TokenDoor(sessions, Server().introduce, sign_in_page)

        async with running(port=port, door=door, hosts=hosts) as one:
            yield one.app

    with served(make, **files) as url:
        trust = ssl.create_default_context(cadata=authority.certificate.decode())
        secure = url.replace("http:", "https:")
        answer = httpx.get(f"{secure}/sign-in", verify=trust, trust_env=False)
        assert "Secure" in answer.headers["set-cookie"]
        assert answer.headers["strict-transport-security"] == BY_HTTPS_ALONE


def test_places_are_bounded_and_end_what_they_began() -> None:
    from reroll.dashboard.seats import Seat, Seats

    ended: list[str] = []

    class Desk:
        board = SimpleNamespace(is_refused=False)

        async def confirmed(self, seconds: float) -> None:
            return None

    class News:
        number = 0

        def end(self) -> None:
            pass

    async def opened(who: Who) -> Seat:
        made: Any = (who, Desk(), News(), None, lambda: ended.append(who.name))
        return Seat(*made)

    async def story() -> None:
        seats = Seats(opened, most=2)
        people = [Who(name, token=name) for name in "abc"]
        first = await seats.of(people[0])
        assert await seats.of(people[0]) is first
        await seats.of(people[1])
        await seats.of(people[2])
        assert ended == ["a"]
        seats.leave(people[1])
        assert ended == ["a", "b"]
        assert await seats.of(people[0]) is not first

    asyncio.run(story())
