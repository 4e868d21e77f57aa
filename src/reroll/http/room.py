"""What all callers of a server share: their number, and the bytes of theirs that are held."""

from http import HTTPStatus
from typing import Protocol


class Caller(Protocol):
    """One connection."""

    peer: str
    """The address that it comes from."""

    def drop(self) -> None: ...

    def refuse(self, status: HTTPStatus) -> None: ...


class Room:
    """At most `most` connections; with one more, the address with most of them loses one.

    It loses the one that has asked nothing for longest. So an address that only holds connections
    open, or opens one after the other, keeps no other address out.
    """

    def __init__(self, largest: int, most: int) -> None:
        self.largest, self.most = largest, most
        self.held = 0
        """Bytes of bodies that are not complete."""
        self.holders: dict[Caller, None] = {}
        """Whose bodies these are, in the order in which they began."""
        self.callers: dict[Caller, None] = {}
        """In the order in which they last began to ask something."""
        self._counts: dict[str, int] = {}
        """Connections by address."""

    def enter(self, caller: Caller) -> None:
        if len(self.callers) >= self.most:
            crowd = max(self._counts.values())
            next(one for one in self.callers if self._counts[one.peer] == crowd).drop()
        self.callers[caller] = None
        self._counts[caller.peer] = self._counts.get(caller.peer, 0) + 1

    def ask(self, caller: Caller) -> None:
        """A caller begins to ask something."""
        if caller in self.callers:
            del self.callers[caller]
            self.callers[caller] = None

    def leave(self, caller: Caller) -> None:
        if caller in self.callers:
            del self.callers[caller]
            self._counts[caller.peer] -= 1
            if not self._counts[caller.peer]:
                del self._counts[caller.peer]
