"""`--auth none`: everybody who can reach it, with the dashboard's own rights, to look only."""

from starlette.responses import Response

from reroll.dashboard.doors.door import Call, OpenDoor
from reroll.dashboard.people import OURSELVES
from reroll.dashboard.sessions import Sessions


class NobodyDoor(OpenDoor):
    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def session(self, call: Call) -> str | Response:  # noqa: ARG002
        session = self._sessions.lent(OURSELVES)
        return session if self._sessions.knows(session) else self._sessions.lend(OURSELVES)
