"""What every request has to pass before a page is made, and what every answer carries.

The dashboard has the rights of its user and listens where others can reach it: every open web page
of the machine, or everybody in a cluster. So: only by its own names (a name that somebody else's
DNS turns to this address is refused), never on behalf of another origin, only with a session, and
with its own token in every form. Answers are kept by nobody, framed by nobody, and run no script
but ours.
"""

import asyncio
from collections.abc import Callable, Mapping
from urllib.parse import parse_qsl

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from reroll.dashboard.doors.door import Call, Door
from reroll.dashboard.hosts import Hosts
from reroll.dashboard.seats import Seats
from reroll.dashboard.sessions import Sessions
from reroll.kube.errors import ApiError, Unauthorized

LONGEST_BODY = 16 * 1024
LONGEST_ADDRESS = 4 * 1024
BODY_WITHIN = 10.0
OPEN = "/static/"
"""What needs no session: it tells nothing of a cluster."""
PROBES = frozenset(("/healthz", "/readyz"))
"""The kubelet asks for these by the address of the pod; they tell nothing at all."""
SIGN_OUT = "/sign-out"
POLICY = "; ".join(
    (
        *("default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'"),
        *("connect-src 'self'", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"),
    )
)
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": POLICY,
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
BY_HTTPS_ALONE = "max-age=31536000"


class Security:
    """Wraps an application; `door` knows who asks, and `seats` where their pages are made."""

    def __init__(self, app: ASGIApp, door: Door, sessions: Sessions, seats: Seats) -> None:
        self._app, self._door, self._sessions, self._seats = app, door, sessions, seats
        sessions.gone = seats.leave
        self.hosts = Hosts(frozenset())
        """Known once it listens."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        origin = self.hosts.address_for(headers.get("host", "")) or ""
        is_secure = origin.startswith("https://")
        call = Call(scope, headers, is_secure)
        answer = await self._answer(call, receive, origin)
        await (answer or self._app)(scope, receive, _dressed(send, is_secure=is_secure))

    async def _answer(self, call: Call, receive: Receive, origin: str) -> Response | None:
        """`None`: the application answers."""
        if call.path in PROBES:
            return PlainTextResponse("ok")
        if refusal := _refusal(call, origin):
            return refusal
        if call.path.startswith(OPEN):
            return None
        if call.path in self._door.own:
            if call.method == "POST" and not await _read_form(call, receive):
                return _no_form()
            return await self._door.answer(call)
        session = await self._door.session(call)
        if isinstance(session, Response):
            return session
        if call.method == "POST":
            if not await _read_form(call, receive):
                return _no_form()
            if not self._sessions.is_form_token(session, call.form.get("form_token", "")):
                return PlainTextResponse("This form is of another session; load it again.", 403)
            if call.path == SIGN_OUT:
                return self._door.leave(call, session)
        return await self._seated(call, session)

    async def _seated(self, call: Call, session: str) -> Response | None:
        """Give the application what it makes pages of: as the user, as long as that is one."""
        state = call.scope.setdefault("state", {})
        state["session"], state["form"], state["call"] = session, call.form, call
        try:
            state["seat"] = await self._seats.of(self._sessions.who(session))
        except Unauthorized as error:
            return self.refused(call) or PlainTextResponse(str(error), 502)
        except ApiError as error:
            return PlainTextResponse(str(error), 502)
        return None

    def refused(self, call: Call) -> Response | None:
        """What is answered to who is accepted by the API server no more."""
        return self._door.refused(call, call.scope["state"]["session"])


def _refusal(call: Call, origin: str) -> Response | None:
    """What is wrong whoever asks."""
    scope, headers = call.scope, call.headers
    if not origin:
        return PlainTextResponse("This name is not that of the dashboard.", 421)
    if call.method not in {"GET", "HEAD", "POST"}:
        return PlainTextResponse("Only GET, HEAD and POST.", 405, {"Allow": "GET, HEAD, POST"})
    if len(scope["raw_path"]) + len(scope["query_string"]) > LONGEST_ADDRESS:
        return PlainTextResponse("This address is too long.", 414)
    said, site = headers.get("origin"), headers.get("sec-fetch-site", "same-origin")
    is_ours = said is None or said.lower() == origin
    if not is_ours or (call.method == "POST" and (said is None or site != "same-origin")):
        return PlainTextResponse("Another page asked for this; it is refused.", 403)
    return None


def _no_form() -> Response:
    return PlainTextResponse("This is not a form, or it is too large.", 413)


async def _read_form(call: Call, receive: Receive) -> bool:
    """The fields of a form; not if it is none, too large or too slow."""
    kind = call.headers.get("content-type", "").partition(";")[0]
    if kind != "application/x-www-form-urlencoded":
        return False
    body = b""
    try:
        async with asyncio.timeout(BODY_WITHIN):
            while True:
                part = await receive()
                body += part.get("body", b"")
                if len(body) > LONGEST_BODY or part["type"] != "http.request":
                    return False
                if not part.get("more_body"):
                    fields = parse_qsl(body.decode("utf-8", "replace"), max_num_fields=32)
                    call.form = dict(fields)
                    return True
    except (TimeoutError, ValueError):
        return False


def _dressed(send: Send, *, is_secure: bool) -> Callable[[Message], "asyncio.Future[None]"]:
    """Answers with the headers of all."""

    async def sender(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
            if is_secure:
                headers["Strict-Transport-Security"] = BY_HTTPS_ALONE
        await send(message)

    return sender  # type: ignore[return-value]
