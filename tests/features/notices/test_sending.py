"""Messages on the wire: a receiver that misbehaves in every way, and secrets that stay secret."""

import asyncio
import hashlib
import hmac
from datetime import timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.features.notices.telling import NOW, VARIED, message, row
from tests.http.test_client_side import Scripted
from tests.kube.servers import Server, server_tls

from reroll.clock import SystemClock
from reroll.core.policy.notice import Notice
from reroll.features.notices.bulletin import Bulletin
from reroll.features.notices.sending import LONGEST_WAIT, NotSent, Sender, wait_of

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
SECRET = "s3cr3t-t0ken"


def answer(status: str, *headers: str, body: bytes = b"") -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


async def send(notice: Notice, seconds: float = 5.0) -> str:
    return await Sender(SystemClock(), {}, seconds).send(notice, message())


def hook(server: Any, **more: Any) -> Notice:
    return row({"webhook": {"url": f"{server.url}/hooks/{SECRET}?key={SECRET}", **more}})


def file(folder: Path, text: str, name: str = "secret") -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


class Taking(Server):
    """Takes one request whole, and answers it."""

    def __init__(self, reply: bytes = OK) -> None:
        self.reply, self.head, self.body = reply, "", b""

    async def serve(self, reader: Any, writer: Any) -> None:
        self.head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = int(self.head.lower().partition("content-length:")[2].partition("\r\n")[0])
        self.body = await reader.readexactly(length)
        writer.write(self.reply)
        await writer.drain()
        await reader.read()


class Silent(Server):
    """Takes a request, and says nothing."""

    async def serve(self, reader: Any, writer: Any) -> None:
        await asyncio.Event().wait()


class Dripping(Server):
    """Begins an answer, and never ends it."""

    def __init__(self, first: bytes, more: bytes, pause: float) -> None:
        self._first, self._more, self._pause = first, more, pause

    async def serve(self, reader: Any, writer: Any) -> None:
        writer.write(self._first)
        while not writer.is_closing():
            writer.write(self._more)
            await writer.drain()
            await asyncio.sleep(self._pause)


async def test_a_body_is_signed_with_the_key_from_a_file(tmp_path: Path) -> None:
    async with Taking() as server:
        await send(hook(server, **{"secret-file": file(tmp_path, "key\n")}))
    expected = hmac.new(b"key", server.body, hashlib.sha256).hexdigest()
    assert f"X-Signature: sha256={expected}\r\n" in server.head


async def test_the_signature_is_that_of_rfc_4231(tmp_path: Path) -> None:
    """Its test case 2, which says what HMAC-SHA-256 makes of this key and these bytes."""
    key, said = file(tmp_path, "Jefe"), "what do ya want for nothing?"
    async with Taking() as server:
        await send(hook(server, **{"secret-file": key, "template": said}))
    assert server.body == said.encode()
    made = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    assert f"X-Signature: sha256={made}\r\n" in server.head


@pytest.mark.parametrize("said", VARIED.values(), ids=VARIED.keys())
async def test_what_others_wrote_makes_no_header_of_a_request(said: Bulletin) -> None:
    async with Taking() as server:
        notice = row({"cloudevents": {"url": f"{server.url}/", "mode": "binary"}})
        await Sender(SystemClock(), {}, 5.0).send(notice, said)
    names = [line.partition(":")[0].lower() for line in server.head.split("\r\n")[1:-2]]
    attributes = ("id", "source", "specversion", "subject", "time", "type")
    usual = ("accept-encoding", "connection", "content-length", "content-type", "host")
    assert sorted(names) == sorted((*usual, "user-agent", *(f"ce-{one}" for one in attributes)))


async def test_a_token_comes_from_a_file_that_is_read_each_time(tmp_path: Path) -> None:
    path = file(tmp_path, "first")
    for token in ("first", "second"):
        Path(path).write_text(f"{token}\n")
        async with Taking() as server:
            await send(hook(server, **{"token-file": path}))
        assert f"Authorization: Bearer {token}\r\n" in server.head


async def test_the_address_of_a_chat_comes_from_a_file(tmp_path: Path) -> None:
    async with Taking() as server:
        path = file(tmp_path, f"{server.url}/services/T/B/{SECRET}\n")
        await send(row({"slack": {"webhook-file": path}}))
    assert server.head.startswith(f"POST /services/T/B/{SECRET} HTTP/1.1\r\n")


async def test_a_space_of_google_keeps_the_key_in_its_address(tmp_path: Path) -> None:
    async with Taking() as server:
        path = file(tmp_path, f"{server.url}/v1/spaces/A/messages?key=k&token=t")
        await send(row({"googlechat": {"webhook-file": path}}))
    assert "POST /v1/spaces/A/messages?key=k&token=t&messageReplyOption=" in server.head


async def test_a_bot_gets_the_reference_of_its_message(tmp_path: Path) -> None:
    said = b'{"ok":true,"channel":"C01","ts":"17.0001"}'
    async with Taking(answer("200 OK", body=said)) as server:
        to = {"token-file": file(tmp_path, SECRET), "channel": "C01", "api": f"{server.url}/api"}
        assert await send(row({"slack": to})) == "C01 17.0001"
    assert server.head.startswith("POST /api/chat.postMessage HTTP/1.1\r\n")
    assert f"Authorization: Bearer {SECRET}" in server.head


# What goes wrong

REFUSALS = [
    ("429 Too Many Requests", ("Retry-After: 7",), 7.0),
    ("503 Busy", ("Retry-After: 999999999",), LONGEST_WAIT),
    ("500 Oops", (), 0.0),
    ("404 Not Found", ("Retry-After: soon",), 0.0),
    ("301 Moved", ("Location: http://169.254.169.254/",), 0.0),
]


@pytest.mark.parametrize(("status", "headers", "wait"), REFUSALS, ids=lambda one: str(one)[:12])
async def test_a_refusal_is_told_with_what_was_asked_for(
    status: str, headers: tuple[str, ...], wait: float
) -> None:
    reply = answer(status, *headers, body=SECRET.encode())
    async with Scripted(reply) as server:
        with pytest.raises(NotSent, match=f"status {status[:3]}") as caught:
            await send(hook(server))
    assert caught.value.retry_after == wait
    assert not caught.value.maybe
    assert SECRET not in str(caught.value)


async def test_slow_cut_and_garbled_answers_leave_open_whether_it_got_through() -> None:
    cut = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"
    endless = Dripping(b"HTTP/1.1 200 OK\r\n", b"X-More: 1\r\n" * 100, 0)
    slow = Dripping(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n", SECRET.encode(), 0.01)
    for server in (Silent(), Scripted(None), Scripted(b"SSH-2.0-x\r\n\r\n"), endless, slow):
        async with server:
            with pytest.raises(NotSent) as caught:
                await send(hook(server), seconds=0.3)
            assert caught.value.maybe
            assert SECRET not in str(caught.value)
            assert "127.0.0.1" in str(caught.value)
    async with Taking(cut) as server:
        with pytest.raises(NotSent):
            await send(hook(server), seconds=0.3)


async def test_a_certificate_that_nobody_vouches_for_is_refused() -> None:
    server = Scripted(OK, tls=server_tls())
    async with server:
        with pytest.raises(NotSent, match="not trusted") as caught:
            await send(hook(server))
    assert not caught.value.maybe
    assert server.heads == []


async def test_a_server_that_is_not_there_is_told() -> None:
    async with Scripted(OK) as server:
        notice = hook(server)
    with pytest.raises(NotSent, match=r"127\.0\.0\.1") as caught:
        await send(notice)
    assert not caught.value.maybe


async def test_nothing_is_sent_where_a_cloud_gives_credentials_away() -> None:
    notice = row({"webhook": {"url": "http://169.254.169.254/latest/meta-data"}})
    with pytest.raises(NotSent, match="metadata"):
        await send(notice)


async def test_an_endless_answer_is_not_read_to_its_end() -> None:
    async with Scripted(answer("200 OK", body=b"x" * 1_000_000)) as server:
        assert await send(hook(server)) == ""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "cannot be read"),
        ("", "no single line"),
        ("a\nb", "no single line"),
        ("ä", "plain"),
        ("hooks.example.com/s3cr3t", "holds no http:// or https:// URL"),
        ("https://me:s3cr3t@hooks.example.com/", "without a user in it; correct it"),
    ],
)
async def test_a_file_without_a_secret_is_told_by_its_name(
    tmp_path: Path, text: str | None, told: str
) -> None:
    path = str(tmp_path / "missing") if text is None else file(tmp_path, text)
    with pytest.raises(NotSent, match=told) as caught:
        await send(row({"teams": {"webhook-file": path}}))
    assert path in str(caught.value)
    assert "s3cr3t" not in str(caught.value)


def test_a_time_to_come_back_may_be_a_date() -> None:
    later = format_datetime(NOW + timedelta(seconds=90), usegmt=True)
    assert wait_of(later, NOW) == 90.0
    assert wait_of(format_datetime(NOW - timedelta(days=1), usegmt=True), NOW) == 0.0


PARTS = (
    "Fri,",
    "01",
    "Jan",
    "2030",
    "00:00:00",
    "GMT",
    "+",
    "-",
    ":",
    " ",
    "9" * 12,
    "(",
    "²",
    "٣",
)


@given(st.text() | st.lists(st.sampled_from(PARTS), max_size=9).map(" ".join))
def test_whatever_a_receiver_asks_for_it_gets_at_most_an_hour(text: str) -> None:
    assert 0.0 <= wait_of(text, NOW) <= LONGEST_WAIT


@pytest.mark.parametrize(
    "text",
    [
        "Fri, 99 Foo 2030 00:00:00 GMT",
        "Fri, 01 Jan 2030 00:00:00 +99999999999999999999",
        "Fri, 01 Jan 99999999999999999999 00:00:00 GMT",
        "-1",
        "1e9",
        "nan",
        "",
    ],
)
def test_a_time_that_is_none_is_no_wish(text: str) -> None:
    assert wait_of(text, NOW) == 0.0
