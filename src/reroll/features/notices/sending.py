"""A message on its way to its receiver: secrets from files, one request, and what came of it.

Neither an address nor a token gets into an error: those name the host at most.
"""

import hashlib
import hmac
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit

from reroll.clock import Clock
from reroll.core.policy.notice import Notice
from reroll.core.policy.receivers import URL, EmailTo, SlackTo
from reroll.features.notices.bulletin import Bulletin
from reroll.features.notices.receivers.chats import slack_answer
from reroll.features.notices.receivers.parcel import Parcel
from reroll.features.notices.receivers.table import RECEIVERS
from reroll.http.errors import (
    BadRoute,
    Forbidden,
    HttpError,
    NoProxy,
    NoServer,
    ProxyRefused,
    Untrusted,
)
from reroll.http.fetch import Answer, Outgoing, Route, send

SECONDS = 10.0
LARGEST = 64 * 1024
"""Bytes of an answer that are read, and of a file with a secret."""
LONGEST_WAIT = 3600.0
"""Seconds that a receiver may ask us to wait."""
SIGNATURE = "X-Signature"
_NEVER_THERE = (BadRoute, Forbidden, NoProxy, NoServer, ProxyRefused, Untrusted)


class NotSent(Exception):  # noqa: N818  it says so
    """A sentence about what is in the way; `retry_after`: what the receiver asked for.

    `maybe`: it may have got through all the same, for nobody said that it did not.
    """

    def __init__(self, why: str, retry_after: float = 0.0, *, maybe: bool = False) -> None:
        super().__init__(why)
        self.retry_after, self.maybe = retry_after, maybe


class Sender:
    """`env` names the proxies."""

    def __init__(self, clock: Clock, env: Mapping[str, str], seconds: float = SECONDS) -> None:
        self._clock, self._env, self._seconds = clock, env, seconds

    async def send(self, notice: Notice, message: Bulletin, ref: str = "") -> str:
        """The reference by which the message can be updated, if it can. Raises `NotSent`."""
        if isinstance(notice.to, EmailTo):
            await _mail(notice.to, message)
            return ""
        encode = RECEIVERS[notice.receiver].encode
        if encode is None:
            raise NotSent("nothing is known of how to tell it")
        parcel = encode(notice.to, message, ref)
        request = outgoing(notice.to, parcel)
        ca_file = Path(notice.to.ca_file) if notice.to.ca_file else None
        route = Route(self._env, ca_file=ca_file, seconds=self._seconds, largest=LARGEST)
        try:
            answer = await send(request, route)
        except HttpError as error:
            raise NotSent(str(error), maybe=not isinstance(error, _NEVER_THERE)) from None
        host = urlsplit(request.url).netloc
        if not 200 <= answer.status < 300:
            self._refused(host, answer)
        if isinstance(notice.to, SlackTo):
            found, problem = slack_answer(notice.to, answer.body)
            if problem:
                raise NotSent(f"{host} answered {problem}", self._wait(answer))
            return found
        return ""

    def _refused(self, host: str, answer: Answer) -> NoReturn:
        is_redirect = 300 <= answer.status < 400
        more = ", which is not followed" if is_redirect else ""
        raise NotSent(f"{host} answered with status {answer.status}{more}", self._wait(answer))

    def _wait(self, answer: Answer) -> float:
        return wait_of(answer.headers.get("retry-after", ""), self._clock.now())


def wait_of(text: str, now: datetime) -> float:
    """What `Retry-After` asks for, seconds or a time; 0 where it says nothing that can be read."""
    text = text.strip()
    if text.isdecimal() and len(text) < 10:
        return min(float(text), LONGEST_WAIT)
    try:
        until = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        return 0.0
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return min(max(0.0, (until - now).total_seconds()), LONGEST_WAIT)


def outgoing(to: Any, parcel: Parcel) -> Outgoing:
    """The request, with what the files hold."""
    headers = list(parcel.headers)
    if token_file := getattr(to, "token_file", ""):
        headers.append(("Authorization", f"Bearer {_secret(token_file)}"))
    if secret_file := getattr(to, "secret_file", ""):
        made = hmac.new(_secret(secret_file).encode(), parcel.body, hashlib.sha256)
        headers.append((SIGNATURE, f"sha256={made.hexdigest()}"))
    return Outgoing(parcel.method, _joined(_address(to), parcel.path), tuple(headers), parcel.body)


def _address(to: Any) -> str:
    if isinstance(to, SlackTo) and to.token_file:
        return to.api
    file = getattr(to, "webhook_file", "") or getattr(to, "url_file", "")
    if not file:
        return str(to.url)
    if not URL.fullmatch(found := _secret(file)):
        raise NotSent(f"{file} holds no http:// or https:// URL without a user in it; correct it")
    return found


def _joined(address: str, path: str) -> str:
    if path.startswith("?"):
        return f"{address}{'&' if '?' in address else '?'}{path[1:]}"
    return f"{address.rstrip('/')}{path}" if path else address


def _secret(path: str) -> str:
    """Read for each message, so that a new one counts at once."""
    try:
        with Path(path).open("rb") as file:
            text = file.read(LARGEST + 1).decode("ascii").strip()
    except OSError as error:
        raise NotSent(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise NotSent(f"{path} holds no plain text") from None
    if not text or len(text) > LARGEST or not text.isprintable():
        raise NotSent(f"{path} holds no single line of text")
    return text


async def _mail(to: EmailTo, message: Bulletin) -> None:
    from reroll.features.notices.receivers.mail import MailError, mail, post

    password = _secret(to.password_file) if to.password_file else ""
    try:
        await post(to, mail(to, message), password)
    except MailError as error:
        raise NotSent(str(error), maybe=error.maybe) from None
