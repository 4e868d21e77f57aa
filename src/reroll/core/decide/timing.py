"""Permissions by the clock and by people: holds on sources, freezes, windows, and what is urgent.

Windows keep a roll from beginning, and nothing else: what is under way ends, and going back waits
for none of them.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from reroll.core.decide.case import Case
from reroll.core.decide.plan import Plan, without_action
from reroll.core.model.content import Content
from reroll.core.model.key import Key
from reroll.core.model.timing import ANY_TIME, Hold, SourceTiming
from reroll.core.model.windows import ALWAYS_OPEN, WindowRow, Windows
from reroll.core.observe.snapshot import Snapshot
from reroll.core.tables.reasons import Reason

if TYPE_CHECKING:  # What reckons with calendars is loaded with the first window.
    from reroll.core.policy.openings import Group, Opening


def timing_of(snapshot: Snapshot, source: Key) -> SourceTiming | None:
    content = snapshot.sources.get(source)
    return content.timing if isinstance(content, Content) else None


def source_held(case: Case) -> Plan | None:
    """A person holds what it would roll for."""
    for source in _changed(case):
        timing = timing_of(case.snapshot, source)
        if timing and timing.hold and not timing.hold.is_over(case.now):
            return held_by(timing.hold, f"on {source}")
    return None


def held_by(hold: Hold, where: str = "") -> Plan:
    """What holds, until when, and why."""
    until = f"until {hold.until:%Y-%m-%d %H:%M:%S %Z}" if hold.until else ""
    told = ": ".join(filter(None, (" ".join(filter(None, (where, until))), hold.why)))
    return without_action(Reason.HELD, f" ({told})" if told else "", look_at=hold.until)


def is_urgent(snapshot: Snapshot, sources: Iterable[Key]) -> bool:
    """Whether one of these sources is marked so that its changes do not wait."""
    return any((timing := timing_of(snapshot, source)) and timing.urgent for source in sources)


def frozen(case: Case) -> Plan | None:
    """A time in which nothing begins."""
    found = _closed(case)
    if found is None or found.denied_by is None:
        return None
    until = f" until {stamp(found.until)}" if found.until else ""
    more = f"; next opening {stamp(found.opens)}" if found.opens != found.until else ""
    detail = f": {found.denied_by.title}{until}{more}{_expiry(case, found)}"
    return without_action(Reason.FROZEN, detail, look_at=_look_at(case, found))


def window_closed(case: Case) -> Plan | None:
    """None of the times is now in which it may begin."""
    if problem := _unreadable(case):
        return without_action(Reason.WINDOW_CLOSED, f": {problem}")
    found = _closed(case)
    if found is None:
        return None
    since = f"closed since {stamp(found.since)}, " if found.since else ""
    detail = f": {since}next opening {stamp(found.opens)}{_expiry(case, found)}"
    return without_action(Reason.WINDOW_CLOSED, detail, look_at=_look_at(case, found))


def stamp(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M %Z}" if moment else "never"


# Which windows count


def groups_of(snapshot: Snapshot, sources: Iterable[Key]) -> "tuple[Group, ...]":
    """The windows that have to be open for a roll for these sources: a group for each place.

    Those of the config file for its namespace, its own, and those of each source. Nobody opens
    what another place keeps shut.
    """
    home, rows = snapshot.workload.key.namespace, snapshot.calendar
    return tuple(dict.fromkeys(filter(None, (for_namespace(rows, home), *_own(snapshot, sources)))))


def for_namespace(rows: Iterable[WindowRow], namespace: str) -> "Group":
    """The windows of the config file that are for all workloads of a namespace."""
    return tuple(
        window
        for row in rows
        if any(fnmatchcase(namespace, glob) for glob in row.namespaces)
        for window in row.windows
    )


def named_windows(said: Windows, rows: Iterable[WindowRow]) -> "Group":
    """Those of an annotation, with the rows that it names."""
    named = [window for row in rows if row.name in said.names for window in row.windows]
    return (*said.own, *named)


def unknown_names(said: Windows, rows: Iterable[WindowRow]) -> str:
    """What is wrong with the names in an annotation; nothing, if they are all known."""
    known = {row.name for row in rows}
    lost = [name for name in said.names if name not in known]
    if not lost:
        return ""
    names = ", ".join(sorted(known)) or "none"
    return f"no window is called {lost[0]!r}; the config file has: {names}"


def _said(snapshot: Snapshot, sources: Iterable[Key]) -> Iterator[Windows]:
    yield snapshot.policy.window
    for source in sources:
        if timing := timing_of(snapshot, source):
            yield timing.window


def _own(snapshot: Snapshot, sources: Iterable[Key]) -> "Iterator[Group]":
    for said in _said(snapshot, sources):
        if said is not ALWAYS_OPEN:
            yield named_windows(said, snapshot.calendar)


def _unreadable(case: Case) -> str:
    """Windows that nobody can tell the times of are closed."""
    changed = _changed(case)
    if is_urgent(case.snapshot, changed):
        return ""
    for said in _said(case.snapshot, changed):
        if problem := said.problem or unknown_names(said, case.snapshot.calendar):
            return problem
    return ""


def _changed(case: Case) -> tuple[Key, ...]:
    return tuple(dict.fromkeys(change.reference.source for change in case.comparison.changes))


def _closed(case: Case) -> "Opening | None":
    """How its windows stand, if they hold it back."""
    changed = _changed(case)
    groups = groups_of(case.snapshot, changed)
    if not groups or is_urgent(case.snapshot, changed):
        return None
    from reroll.core.policy.openings import is_open, opening

    if is_open(groups, case.now):
        return None
    found = opening(groups, case.now)
    due = _due(case, found)
    return None if found.is_open or (due and due <= case.now) else found


# Certificates


def expires(case: Case) -> datetime | None:
    """When the first certificate runs out that its pods use, as far as that was recorded."""
    return case.record.expires if case.record else None


def _due(case: Case, found: "Opening") -> datetime | None:
    """From when on it rolls although its windows are closed; `None`: it does not."""
    early, ends = case.snapshot.policy.before_expiry, expires(case)
    if early is None or ends is None or (found.opens and found.opens < ends):
        return None
    return case.now if early is ANY_TIME or early == ANY_TIME else ends - early


def _look_at(case: Case, found: "Opening") -> datetime | None:
    moments = (found.opens, _due(case, found))
    return min((one for one in moments if one), default=None)


def _expiry(case: Case, found: "Opening") -> str:
    ends = expires(case)
    if ends is None or (found.opens and found.opens < ends):
        return ""
    return f"; a certificate that it uses runs out before that, {stamp(ends)}"
