"""`--auth token`: people sign in with a bearer token of their own, and have its rights.

The token goes to the API server and into the session, and nowhere else: no cookie, no address and
no log has it. A program may send it with every request instead, as it does to the API server.
"""

import re
from collections.abc import Awaitable, Callable
from typing import ClassVar, NamedTuple
from urllib.parse import quote, urlencode

from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from reroll.dashboard.doors.door import Call, is_own_path, set_cookie
from reroll.dashboard.people import Who
from reroll.dashboard.sessions import Sessions
from reroll.kube.errors import ApiError, Unauthorized

SIGN_IN = "/sign-in"
LONGEST = 12 * 1024
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")
WRONG = "The API server does not accept this token: it has expired, or is not of this cluster."
NO_TOKEN = "This is not a bearer token."  # noqa: S105
AGAIN = "This page was open for too long; try again."
EXPIRED = "Your token is accepted no more: it has expired, or was revoked. Sign in with a new one."
UNKNOWN = "Sign in first, or send a bearer token."


class SignIn(NamedTuple):
    """What the page for signing in shows."""

    form_token: str
    to: str
    problem: str = ""


class TokenDoor:
    """`introduce` asks the API server whose token it is; `page` draws the page."""

    own: ClassVar[frozenset[str]] = frozenset((SIGN_IN,))
    can_leave: ClassVar[bool] = True

    def __init__(
        self,
        sessions: Sessions,
        introduce: Callable[[Who], Awaitable[str]],
        page: Callable[[SignIn], str],
    ) -> None:
        self._sessions, self._introduce, self._page = sessions, introduce, page

    async def answer(self, call: Call) -> Response:
        to = call.form.get("next") or call.words.get("next", "/")
        to = to if is_own_path(to) else "/"
        if call.method != "POST":
            has_expired = call.words.get("why") == "expired"
            return self._form(call, to, EXPIRED if has_expired else "")
        if not self._is_ours(call):
            return self._form(call, to, AGAIN, 403)
        try:
            who = await self._known(call.form.get("token", ""))
        except Unauthorized:
            return self._form(call, to, WRONG, 401)
        except ApiError as error:
            return self._form(call, to, f"The API server cannot be asked: {error}", 502)
        if who is None:
            return self._form(call, to, NO_TOKEN, 400)
        self._sessions.close(call.cookie(_cookie(call)))
        answer = RedirectResponse(to, 303)
        set_cookie(answer, call, _cookie(call), self._sessions.open(who))
        answer.delete_cookie(_nonce(call), path="/", secure=call.is_secure, samesite="strict")
        return answer

    async def session(self, call: Call) -> str | Response:
        if token := _bearer(call):
            return await self._shown(token)
        session = call.cookie(_cookie(call))
        if self._sessions.knows(session):
            return session
        if call.is_for_a_program:
            return _unknown()
        if call.method == "GET" and call.headers.get("sec-fetch-site") == "cross-site":
            return _once_more(call)
        return RedirectResponse(_sign_in(call), 303)

    def leave(self, call: Call, session: str) -> Response:
        self._sessions.close(session)
        answer = RedirectResponse(SIGN_IN, 303)
        answer.delete_cookie(_cookie(call), path="/", secure=call.is_secure, samesite="strict")
        return answer

    def refused(self, call: Call, session: str) -> Response | None:
        self._sessions.close(session)
        if call.is_for_a_program or _bearer(call):
            return PlainTextResponse(EXPIRED, 401)
        return RedirectResponse(_sign_in(call, why="expired"), 303)

    # Tokens

    async def _shown(self, token: str) -> str | Response:
        """The session of a program that sends its token with every request."""
        bare = Who(token=token)
        session = self._sessions.lent(bare)
        if self._sessions.knows(session):
            return session
        try:
            who = await self._known(token)
        except Unauthorized:
            return PlainTextResponse(WRONG, 401)
        except ApiError as error:
            return PlainTextResponse(f"The API server cannot be asked: {error}", 502)
        return self._sessions.lend(bare, who) if who else _unknown()

    async def _known(self, text: str) -> Who | None:
        """With the name that the API server has for it; `None`: this can be no token."""
        token = text.strip().removeprefix("Bearer ").strip()
        if len(token) > LONGEST or not _TOKEN.fullmatch(token):
            return None
        name = await self._introduce(Who(token=token))
        return Who(name or "somebody", token=token)

    # The page

    def _form(self, call: Call, to: str, problem: str, status: int = 200) -> Response:
        """A form is of the browser that it was given to: nobody signs others in."""
        nonce = call.cookie(_nonce(call)) or self._sessions.draw()
        shown = SignIn(self._sessions.form_token(f"sign-in {nonce}"), to, problem)
        answer = HTMLResponse(self._page(shown), status)
        set_cookie(answer, call, _nonce(call), nonce)
        return answer

    def _is_ours(self, call: Call) -> bool:
        nonce, given = call.cookie(_nonce(call)), call.form.get("form_token", "")
        return bool(nonce) and self._sessions.is_form_token(f"sign-in {nonce}", given)


def _bearer(call: Call) -> str:
    scheme, _, token = call.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _cookie(call: Call) -> str:
    return "__Host-reroll" if call.is_secure else "reroll"


def _nonce(call: Call) -> str:
    return f"{_cookie(call)}-sign-in"


def _sign_in(call: Call, **words: str) -> str:
    query = call.scope["query_string"].decode("latin-1")
    here = f"{call.path}?{query}" if query else call.path
    to = here if call.method == "GET" and here != "/" else ""
    text = urlencode({**words, **({"next": to} if to else {})})
    return f"{SIGN_IN}?{text}" if text else SIGN_IN


def _unknown() -> Response:
    return PlainTextResponse(UNKNOWN, 401, {"WWW-Authenticate": "Bearer"})


def _once_more(call: Call) -> Response:
    """A link of another site: the browser keeps the cookie back until one of ours leads there."""
    query = call.scope["query_string"].decode("latin-1")
    here = quote(call.path) + (f"?{quote(query, safe='=&%+')}" if query else "")
    here = here if is_own_path(here) else "/"
    head = f'<meta http-equiv="refresh" content="0;url={here}">'
    return HTMLResponse(f'<!doctype html><html lang="en"><head>{head}</head></html>')
