"""The sessions of browsers, and who each of them is.

A session is a random word in a cookie that scripts cannot read; what it stands for is kept here and
nowhere else. Every form carries a second token that follows from it. Those who show who they are
with every request have a session too, without a cookie: it follows from what they show.
"""

import hashlib
import hmac
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import NamedTuple

from reroll.dashboard.people import OURSELVES, Who

MOST = 16
"""Sessions of one person at once; the one that began first is forgotten."""
MOST_IN_ALL = 256
LONGEST = 8 * 3600.0
"""Seconds that a session lasts, however much it is used."""
IDLE = 3600.0
"""Seconds without a request after which it is over."""


class Notice(NamedTuple):
    """What came of something that was just done."""

    sentence: str
    is_bad: bool = False


@dataclass(slots=True)
class _Session:
    who: Who
    began: float
    used: float
    notices: list[Notice] = field(default_factory=list)


class Sessions:
    """`draw` makes a new random token; `now` is a clock that only goes on."""

    def __init__(self, draw: Callable[[], str], now: Callable[[], float] = monotonic) -> None:
        self.draw, self._now = draw, now
        self._secret = draw().encode()
        self._tokens = {draw()}
        self._known: OrderedDict[str, _Session] = OrderedDict()
        self.lasts = True
        """Sessions end by themselves; not those of who started the command."""
        self.gone: Callable[[Who], None] = lambda _: None
        """Told of who has no session any more."""

    # The token of the first address

    @property
    def token(self) -> str:
        """The one that was not used yet."""
        return next(iter(self._tokens), "")

    def enter(self, token: str) -> str | None:
        """A new session for a token that was not used; nothing for any other."""
        match = [one for one in self._tokens if hmac.compare_digest(one.encode(), token.encode())]
        if not match:
            return None
        self._tokens.clear()
        return self.open(OURSELVES)

    # Sessions

    def open(self, who: Who) -> str:
        """A new session, whatever the browser had before."""
        return self._add(self.draw(), who)

    def lent(self, who: Who) -> str:
        """The session of who shows this with every request; `knows` says whether it is there."""
        said = "\0".join(("who", who.name, *who.groups, "", who.token))
        return "lent-" + hmac.new(self._secret, said.encode(), hashlib.sha256).hexdigest()

    def lend(self, shown: Who, who: Who | None = None) -> str:
        """The same, and from now on it is there; `who` is what is known of who showed it."""
        return self._add(self.lent(shown), who or shown)

    def close(self, session: str) -> None:
        """Whoever still has its cookie has nothing."""
        one = self._known.pop(session, None)
        if one and not any(other.who == one.who for other in self._known.values()):
            self.gone(one.who)

    def knows(self, session: str) -> bool:
        self._forget_old()
        known = [one for one in self._known if hmac.compare_digest(one.encode(), session.encode())]
        for one in known:
            self._known[one].used = self._now()
        return bool(known)

    def who(self, session: str) -> Who:
        return self._known[session].who

    def _add(self, session: str, who: Who) -> str:
        now = self._now()
        self._known[session] = _Session(who, now, now)
        same = [name for name, one in self._known.items() if one.who.name == who.name]
        for name in same[:-MOST]:
            self.close(name)
        while len(self._known) > MOST_IN_ALL:
            self.close(next(iter(self._known)))
        return session

    def _forget_old(self) -> None:
        if not self.lasts:
            return
        now = self._now()
        over = [
            name
            for name, one in self._known.items()
            if now - one.began > LONGEST or now - one.used > IDLE
        ]
        for name in over:
            self.close(name)

    # Forms, and what came of them

    def form_token(self, session: str) -> str:
        """What a form has to carry that is sent by this session."""
        return hmac.new(self._secret, b"form " + session.encode(), hashlib.sha256).hexdigest()

    def is_form_token(self, session: str, token: str) -> bool:
        return hmac.compare_digest(self.form_token(session).encode(), token.encode())

    def tell(self, session: str, notice: Notice) -> None:
        """Show it on the next page of this session."""
        if session in self._known:
            self._known[session].notices[:] = [notice]

    def notices(self, session: str) -> list[Notice]:
        """What was not shown yet; it is shown once."""
        if session not in self._known:
            return []
        shown = list(self._known[session].notices)
        self._known[session].notices.clear()
        return shown
