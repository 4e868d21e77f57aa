"""`--auth local`: whoever opened the address that was printed, once.

The token in that address is good for one browser. It is exchanged for a cookie.
"""

from starlette.responses import PlainTextResponse, RedirectResponse, Response

from reroll.dashboard.doors.door import Call, OpenDoor, is_own_path, set_cookie
from reroll.dashboard.sessions import Sessions

ENTER = "/enter"
NO_SESSION = (
    "This browser is not known here. Open the address that `reroll dashboard` printed; "
    "it is good for one browser. To get a new one, start the command again."
)


class LocalDoor(OpenDoor):
    own = frozenset((ENTER,))

    def __init__(self, sessions: Sessions, cookie: str) -> None:
        self._sessions, self._cookie = sessions, cookie
        sessions.lasts = False

    async def answer(self, call: Call) -> Response:
        """The token of the first address for a cookie, and away from that address."""
        if call.method != "GET":
            return PlainTextResponse("Only GET.", 405, {"Allow": "GET"})
        session = self._sessions.enter(call.words.get("token", ""))
        if session is None:
            return PlainTextResponse(NO_SESSION, 401)
        to = call.words.get("next", "/")
        answer = RedirectResponse(to if is_own_path(to) else "/", 303)
        set_cookie(answer, call, self._cookie, session)
        return answer

    async def session(self, call: Call) -> str | Response:
        session = call.cookie(self._cookie)
        return session if self._sessions.knows(session) else PlainTextResponse(NO_SESSION, 401)
