"""What a watch does next: the state of list and watch, and the step from one state to the next.

Pure: no sockets, no clock, no chance. `kube.watch` performs what the state says and reports what
happened; `step` answers with the new state.

            ┌────────────── streaming list refused ─────────────┐
            │                                                   ▼
    ┌──► STREAM ──── initial events complete ────► WATCH ◄─── PAGES ◄─┐ next page
    │       ▲                                       │ │         │     │
    │       └──── 410, version unknown, 404 ────────┘ │         └─────┘
    │                                                 └── closed, cut, silent: WATCH again from
    └─ first state                                        the last version seen

Two streams in a row that say nothing at all, not even a bookmark, mean a new list too: a server
whose store was restored from a backup is silent about versions it has not reached again.

A refused permission (403) changes nothing but the pace. One that was granted before is doubted at
first: an API server that has just started refuses everything until it has read who may do what.
Failures in a row are only forgotten when
a watch made progress, so that a server that lists well and fails every watch is not listed without
a pause.
"""

from enum import Enum
from typing import Literal

import msgspec
from msgspec.structs import replace

from reroll.kube.errors import (
    SILENCE,
    ApiError,
    Forbidden,
    Gone,
    Invalid,
    NotFound,
    Rejected,
    Throttled,
    Unavailable,
)

Health = Literal["starting", "listing", "watching", "absent", "forbidden", "failing"]
PATIENCE_WITH_STREAMS = 3
DOUBTS = 4
"""Refusals in a row of what was allowed before, until they are believed."""
_VERSION_UNKNOWN = "ResourceVersionTooLarge"


class Phase(Enum):
    """Which request comes next."""

    STREAM = "a watch that sends all there is first"
    PAGES = "the next page of a list"
    WATCH = "a watch from the last version seen"


class Pace(msgspec.Struct, frozen=True):
    """How long to wait for what, in seconds."""

    backoff: float = 0.5
    longest_backoff: float = 30.0
    absent: float = 10.0
    """Between looks for an API that is not there."""
    forbidden: float = 30.0
    """Between tries of what is not allowed."""
    longest_stream: float = 590.0
    """After half of this to all of it, the server is asked to end the stream."""

    def after(self, failures: int) -> float:
        """The pause after so many failures in a row; none after none."""
        if failures == 0:
            return 0.0
        return float(min(self.backoff * 2 ** min(failures - 1, 16), self.longest_backoff))


class State(msgspec.Struct, frozen=True):
    """Where list and watch stand."""

    phase: Phase = Phase.STREAM
    version: str = ""
    """Resume the watch from here."""
    continue_: str = ""
    """The token of the next page; empty for the first one."""
    streams: bool = True
    """The server offers streaming lists, as far as is known."""
    failures: int = 0
    relists: int = 0
    """Relists in a row after which no watch made progress."""
    allowed: bool = False
    """The server let us list or watch, and has not taken that back."""
    refusals: int = 0
    """Refusals in a row that are not believed yet."""
    silent: bool = False
    """The last stream was open and said nothing until it was given up."""
    wait: float = 0.0
    """Seconds to wait in any case before the next request."""
    backoff: float = 0.0
    """Seconds to wait on top, drawn at random up to this."""
    health: Health = "starting"
    problem: str | None = None

    @property
    def list_phase(self) -> Phase:
        return Phase.STREAM if self.streams else Phase.PAGES


class Opened(msgspec.Struct, frozen=True):
    """The server accepted the request and begins to send."""


class Paged(msgspec.Struct, frozen=True):
    """A page came, and more will."""

    continue_: str


class Listed(msgspec.Struct, frozen=True):
    """All there is was seen, as of a version."""

    version: str


class Ended(msgspec.Struct, frozen=True):
    """The server closed the stream."""

    version: str
    progress: bool
    """Something came, or it was open for a while: no reason for a pause."""


class Failed(msgspec.Struct, frozen=True):
    """A request or stream came to a bad end."""

    error: ApiError
    doing: str
    """For people: `watch configmaps in namespace shop`."""
    version: str = ""
    progress: bool = False


Happening = Opened | Paged | Listed | Ended | Failed


def first(*, streaming: bool = True) -> State:
    return State(streams=streaming, phase=Phase.STREAM if streaming else Phase.PAGES)


def step(state: State, happened: Happening, pace: Pace) -> State:
    """The state after `happened`."""
    match happened:
        case Opened():
            return _healthy(state, "watching" if state.phase is Phase.WATCH else "listing")
        case Paged(continue_):
            return replace(_healthy(state, "listing"), continue_=continue_)
        case Listed(version):
            watching = _healthy(state, "watching")
            return replace(watching, phase=Phase.WATCH, version=version, continue_="")
        case Ended(version, progress):
            return _ended(_advanced(state, version, progress=progress), pace)
        case Failed(error, doing, version, progress):
            advanced = _advanced(state, version, progress=progress)
            if progress and isinstance(error, Unavailable) and error.status is None:
                return _ended(advanced, pace)  # cut in the middle: as good as closed
            return _failed(advanced, error, doing, pace)


def _healthy(state: State, health: Health) -> State:
    good = replace(state, health=health, problem=None, wait=0.0, backoff=0.0)
    return replace(good, allowed=True, refusals=0)


def _advanced(state: State, version: str, *, progress: bool) -> State:
    if state.phase is not Phase.WATCH:
        return state
    if not progress:
        return state
    return replace(state, version=version or state.version, failures=0, relists=0, silent=False)


def _ended(state: State, pace: Pace) -> State:
    """A stream ends now and then: that is no failure, unless it never gets anywhere."""
    failures = state.failures + 1
    backoff = pace.after(state.failures)
    return _impatient(replace(state, failures=failures, wait=0.0, backoff=backoff))


def _failed(state: State, error: ApiError, doing: str, pace: Pace) -> State:
    again = replace(state, wait=0.0, problem=f"cannot {doing}: {error.message}")
    if isinstance(error, NotFound):
        # The API or CRD is absent: nothing to complain of, only something to look for.
        relist = _from_the_start(again)
        absent = replace(relist, health="absent", problem=None, failures=0, backoff=pace.absent)
        return replace(absent, allowed=True, refusals=0)
    if isinstance(error, Forbidden):
        return _refused(again, pace)
    if _needs_list(state, error):
        # The server is there: how long it was away is no reason to wait once more.
        backoff, relists = pace.after(state.relists), state.relists + 1
        relist = _from_the_start(again)
        return replace(relist, problem=None, failures=0, relists=relists, backoff=backoff)
    if state.phase is Phase.STREAM and isinstance(error, Invalid | Rejected):
        return replace(again, phase=Phase.PAGES, streams=False, problem=None, backoff=0.0)
    return _pausing(again, error, pace)


def _refused(state: State, pace: Pace) -> State:
    refusals = state.refusals + 1
    if state.allowed and refusals <= DOUBTS:
        backoff = pace.after(refusals)
        return replace(state, health="failing", refusals=refusals, backoff=backoff)
    return replace(state, health="forbidden", allowed=False, refusals=0, backoff=pace.forbidden)


def _needs_list(state: State, error: ApiError) -> bool:
    """Whether a watch from the last version cannot work any more."""
    if isinstance(error, Gone) or _VERSION_UNKNOWN in error.causes:
        return True
    return state.silent and error.reason == SILENCE


def _pausing(state: State, error: ApiError, pace: Pace) -> State:
    if error.reason == SILENCE and state.phase is Phase.WATCH:
        # A server promises no bookmarks, and where nothing happens it may leave them out: what was
        # silent once is opened again, and only what cannot be opened is a failure.
        return replace(state, silent=True, problem=None, backoff=0.0)
    failures = state.failures + 1
    wait, backoff = error.retry_after or 0.0, pace.after(failures)
    slower = replace(state, failures=failures, wait=wait, backoff=backoff, health="failing")
    return slower if isinstance(error, Throttled) else _impatient(slower)


def _from_the_start(state: State) -> State:
    return replace(state, phase=state.list_phase, version="", continue_="", silent=False)


def _impatient(state: State) -> State:
    """Something between us and the server may cut every long stream: then list by pages."""
    if state.phase is Phase.STREAM and state.failures >= PATIENCE_WITH_STREAMS:
        return replace(state, phase=Phase.PAGES)
    return state
