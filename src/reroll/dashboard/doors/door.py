"""What every way in has to tell: whose session a request is of."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import ClassVar, Protocol
from urllib.parse import parse_qsl, urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.types import Scope


@dataclass(slots=True)
class Call:
    """A request that came under a name of ours, on behalf of no other site."""

    scope: Scope
    headers: Headers
    is_secure: bool
    """The browser has it by https."""
    form: Mapping[str, str] = field(default_factory=dict)

    @property
    def path(self) -> str:
        return str(self.scope["path"])

    @property
    def method(self) -> str:
        return str(self.scope["method"])

    @property
    def words(self) -> dict[str, str]:
        """What stands behind the question mark."""
        return dict(parse_qsl(self.scope["query_string"].decode("latin-1")))

    @property
    def is_for_a_program(self) -> bool:
        return self.path.startswith("/api/") or self.path in {"/events", "/version"}

    def cookie(self, name: str) -> str:
        return cookies(self.headers).get(name, "")


class Door(Protocol):
    """`session` answers with a session that is known, or refuses."""

    own: ClassVar[frozenset[str]]
    """The paths that it answers itself, whoever asks."""
    can_leave: ClassVar[bool]
    """There is something to sign out of."""

    async def answer(self, call: Call) -> Response:
        """A request for one of its own paths."""

    async def session(self, call: Call) -> str | Response:
        """Whose session this is."""

    def leave(self, call: Call, session: str) -> Response:
        """Sign out."""

    def refused(self, call: Call, session: str) -> Response | None:
        """The API server accepts this session no more; `None`: nothing can be done about it."""


class OpenDoor:
    """What doors have that answer no path of their own and have nothing to sign out of."""

    own: ClassVar[frozenset[str]] = frozenset()
    can_leave: ClassVar[bool] = False

    async def answer(self, call: Call) -> Response:  # noqa: ARG002
        return PlainTextResponse("There is no such page.", 404)

    def leave(self, call: Call, session: str) -> Response:  # noqa: ARG002
        return PlainTextResponse("There is nothing to sign out of here.", 404)

    def refused(self, call: Call, session: str) -> Response | None:  # noqa: ARG002
        return None


def cookies(headers: Headers) -> dict[str, str]:
    jar: SimpleCookie = SimpleCookie()
    try:
        jar.load(headers.get("cookie", ""))
    except CookieError:
        return {}
    return {name: one.value for name, one in jar.items()}


def is_own_path(text: str) -> bool:
    """Whether it leads to a page of ours, and to nobody else's."""
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    is_local = not (parts.scheme or parts.netloc)
    is_plain = all(" " <= one != "\\" for one in text)
    return is_local and is_plain and text.startswith("/") and not text.startswith("//")


def set_cookie(answer: Response, call: Call, name: str, value: str) -> None:
    """One that no script reads, that no other site has sent along, and that no plain http sees."""
    answer.set_cookie(
        name, value, httponly=True, samesite="strict", path="/", secure=call.is_secure
    )
