"""Notices by mail, to a real mail server."""

import asyncio
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, LoginPassword
from tests.features.notices.telling import VARIED, message, row
from tests.kube.servers import Server

from reroll.clock import SystemClock
from reroll.features.notices.bulletin import Bulletin, State
from reroll.features.notices.receivers import mail as mails
from reroll.features.notices.sending import NotSent, Sender
from reroll_dev import pki

PASSWORD = "s3cr3t"
FROM, TO = "reroll@example.com", "ops@example.com"


class Box:
    """What the server took."""

    def __init__(self, refuses: str = "") -> None:
        self.mails: list[Any] = []
        self.refuses = refuses

    async def handle_DATA(self, _: Any, __: Any, envelope: Any) -> str:  # noqa: N802
        self.mails.append(message_from_bytes(envelope.content, policy=policy.default))
        return self.refuses or "250 OK"


class Here(Controller):
    """Listens on a port that is free."""

    def _trigger_server(self) -> None:
        self.port = self.server.sockets[0].getsockname()[1]
        super()._trigger_server()


def authenticated(*given: Any) -> AuthResult:
    data = given[-1]
    is_right = isinstance(data, LoginPassword) and data.password == PASSWORD.encode()
    return AuthResult(success=is_right, handled=False)


@contextmanager
def serving(box: Box, tmp_path: Path | None = None, *, implicit: bool = False) -> Iterator[Any]:
    """A server; with a folder it has a certificate, whose authority is in `ca.crt` there."""
    more: dict[str, Any] = {}
    if tmp_path is not None:
        context = certified(tmp_path)
        login = {"authenticator": authenticated, "auth_required": not implicit}
        more = {"ssl_context": context} if implicit else {"tls_context": context, **login}
        more |= {} if implicit else {"require_starttls": True}
    server = Here(box, hostname="127.0.0.1", port=0, **more)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def certified(folder: Path) -> ssl.SSLContext:
    authority = pki.new_authority()
    pair = pki.server_certificate(authority)
    (folder / "ca.crt").write_bytes(authority.certificate)
    (folder / "server.pem").write_bytes(pair.certificate + pair.key)
    (folder / "password").write_text(f"{PASSWORD}\n")
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(folder / "server.pem")
    return made


def email(port: int, **more: Any) -> Any:
    to = {"host": "127.0.0.1", "port": port, "sender": FROM, "recipients": [TO, "b@example.com"]}
    return row({"email": to | more})


async def send(notice: Any, state: State = State.OPEN) -> None:
    await Sender(SystemClock(), {}).send(notice, message(state))


async def test_a_mail_is_taken_over_starttls_with_a_login(tmp_path: Path) -> None:
    box = Box()
    with serving(box, tmp_path) as server:
        files = {"ca-file": f"{tmp_path}/ca.crt", "password-file": f"{tmp_path}/password"}
        notice = email(server.port, user="reroll", **files)
        await send(notice)
        await send(notice, State.OVER)

    first, last = box.mails
    assert first["Subject"] == "Stopped: configmap shop/app"
    assert (first["From"], first["To"]) == (FROM, f"{TO}, b@example.com")
    assert "Deployment shop/web-1: Deployment shop/web-0 failed" in first.get_content()
    assert last["Subject"] == "Healthy again: configmap shop/app"
    assert last["In-Reply-To"] == first["Message-ID"]


async def test_a_mail_is_taken_over_tls_from_the_first_byte(tmp_path: Path) -> None:
    box = Box()
    with serving(box, tmp_path, implicit=True) as server:
        await send(email(server.port, tls="implicit", **{"ca-file": f"{tmp_path}/ca.crt"}))
    assert len(box.mails) == 1


async def test_a_wrong_password_is_told_without_it(tmp_path: Path) -> None:
    box = Box()
    with serving(box, tmp_path) as server:
        (tmp_path / "password").write_text("wr0ng")
        files = {"ca-file": f"{tmp_path}/ca.crt", "password-file": f"{tmp_path}/password"}
        with pytest.raises(NotSent, match="answered 535") as caught:
            await send(email(server.port, user="reroll", **files))
    assert "wr0ng" not in str(caught.value)
    assert box.mails == []


async def test_a_server_without_starttls_gets_no_mail() -> None:
    box = Box()
    with serving(box) as server:
        with pytest.raises(NotSent, match="does not offer"):
            await send(email(server.port))
        await send(email(server.port, tls="none"))
    assert len(box.mails) == 1


async def test_a_certificate_that_nobody_vouches_for_gets_no_mail(tmp_path: Path) -> None:
    box = Box()
    with serving(box, tmp_path) as server, pytest.raises(NotSent, match="not trusted"):
        await send(email(server.port))
    assert box.mails == []


async def test_a_mail_that_is_refused_is_not_sent() -> None:
    box = Box(refuses="451 4.3.0 try later")
    with serving(box) as server, pytest.raises(NotSent, match="answered 451") as caught:
        await send(email(server.port, tls="none"))
    assert not caught.value.maybe
    with pytest.raises(NotSent, match="refused") as caught:
        await send(email(server.port, tls="none"))
    assert not caught.value.maybe


class Odd(Server):
    """Takes a mail, and then hangs up, or answers the farewell as nobody does."""

    def __init__(self, *, hangs_up: bool) -> None:
        self._hangs_up = hangs_up

    async def serve(self, reader: Any, writer: Any) -> None:
        writer.write(b"220 here\r\n")
        while line := await reader.readline():
            if line.upper().startswith(b"DATA"):
                writer.write(b"354 go on\r\n")
                await reader.readuntil(b"\r\n.\r\n")
                if self._hangs_up:
                    writer.transport.abort()
                    return
            writer.write(b"421 busy\r\n" if line.upper().startswith(b"QUIT") else b"250 OK\r\n")


async def test_a_mail_that_the_server_has_is_sent_whatever_it_says_in_farewell() -> None:
    async with Odd(hangs_up=False) as server:
        await send(email(server.port, tls="none"))


async def test_a_server_that_hangs_up_on_a_mail_may_have_it() -> None:
    async with Odd(hangs_up=True) as server:
        with pytest.raises(NotSent, match="closed the connection") as caught:
            await send(email(server.port, tls="none"))
    assert caught.value.maybe


class Silent(Server):
    async def serve(self, reader: Any, writer: Any) -> None:
        await asyncio.Event().wait()


async def test_a_server_that_says_nothing_is_given_up() -> None:
    async with Silent() as server:
        to = email(server.port, tls="none").to
        with pytest.raises(mails.MailError, match="no answer within"):
            await mails.post(to, mails.mail(to, message()), "", 0.3)


class Dripping(Server):
    """Says a byte now and then, and never a whole line."""

    async def serve(self, reader: Any, writer: Any) -> None:
        while True:
            writer.write(b"2")
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("tls", ["none", "starttls", "implicit"])
async def test_a_server_that_never_comes_to_an_end_keeps_no_thread(tls: str) -> None:
    before = set(threading.enumerate())
    async with Dripping() as server:
        to = email(server.port, tls=tls).to
        with pytest.raises(mails.MailError):
            await mails.post(to, mails.mail(to, message()), "", 0.3)
        for thread in set(threading.enumerate()) - before:
            await asyncio.to_thread(thread.join, 10)
            assert not thread.is_alive()


@pytest.mark.parametrize("said", VARIED.values(), ids=VARIED.keys())
def test_what_others_wrote_makes_no_header_of_a_mail(said: Bulletin) -> None:
    made = mails.mail(email(25).to, said).as_bytes(policy=policy.SMTP)
    read = message_from_bytes(made, policy=policy.default)
    ours = {"From", "To", "Subject", "Date", "Message-ID", "Auto-Submitted"}
    answering = {"In-Reply-To", "References"} if said.state is State.OVER else set()
    of_mime = {"MIME-Version", "Content-Type", "Content-Transfer-Encoding"}
    assert {name for name, _ in read.items()} == ours | answering | of_mime
    assert max(map(len, made.split(b"\r\n"))) <= 998


async def test_no_mail_goes_where_a_cloud_gives_credentials_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(NotSent, match="metadata"):
        await send(email(25, host="169.254.169.254", tls="none"))

    def found(host: str, port: int, **_: Any) -> list[Any]:
        return [(socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("fd00:ec2::254", port, 0, 0))]

    monkeypatch.setattr(socket, "getaddrinfo", found)
    with pytest.raises(NotSent, match=r"mail\.example\.com: leads to .* metadata"):
        await send(email(25, host="mail.example.com", tls="none"))
