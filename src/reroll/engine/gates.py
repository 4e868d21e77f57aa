"""Who waits for which gate, and what each gate last said.

Nothing is asked here: whoever asks (`features.gates`) is told what is waited for, and tells the
answers. What nobody waits for is forgotten, so nothing here is older than the last question.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import NamedTuple, Protocol

import msgspec

from reroll.core.decide.plan import Plan
from reroll.core.model.gates import (
    NO_NAMES,
    Analysis,
    Answer,
    Gate,
    GateReading,
    Measured,
    Phase,
    Webhook,
)
from reroll.core.model.key import Key, Problem
from reroll.core.model.pace import Limits
from reroll.core.observe.snapshot import Snapshot
from reroll.core.tables.annotations import DOMAIN
from reroll.core.tables.reasons import Reason

UNREAD = "the annotation that names its gates cannot be read"
ELSEWHERE = "the controller asks it, and this command does not"


class Rules(Protocol):
    """What propagation needs of the settings."""

    @property
    def limits(self) -> Limits: ...

    @property
    def gates(self) -> tuple[Gate, ...]: ...

    @property
    def at_once(self) -> bool: ...


class GateId(NamedTuple):
    """One question: a gate, and for whom it is asked where that matters."""

    gate: str
    namespace: str = ""
    workload: Key | None = None
    phase: Phase | None = None

    def __str__(self) -> str:
        return " ".join(filter(None, (self.gate, str(self.workload or self.namespace))))


class _State(msgspec.Struct):
    reading: GateReading
    waiting: dict[Key, None] = {}
    unserved: dict[Key, None] = {}
    """Of those, who came after the last answer."""
    failures: int = 0
    """In a row."""


class GateBoard:
    """`wake(key)`: a workload may go on, or there is news for it."""

    def __init__(
        self, rows: Iterable[Gate], wake: Callable[[Key], None], *, at_once: bool = False
    ) -> None:
        self.rows = {row.name: row for row in rows}
        self._wake, self._at_once = wake, at_once
        self._ask: Callable[[GateId], None] = lambda _: None
        self._states: dict[GateId, _State] = {}
        self._of: dict[Key, frozenset[GateId]] = {}

    # What decisions ask

    def readings(self, key: Key, names: Iterable[str]) -> tuple[GateReading, ...]:
        """Of the gates that a workload names, as far as they were asked for it."""
        found: list[GateReading] = []
        for name in names:
            row = self.rows.get(name)
            if self._at_once and name != NO_NAMES and (row or not self.rows):
                found.append(GateReading(name, why=ELSEWHERE))
                continue
            if row is None:
                why = UNREAD if name == NO_NAMES else "the config file has no such gate"
                found.append(GateReading(name, Answer.UNKNOWN, why))
                continue
            ids = dict.fromkeys(_id(row, key, phase) for phase in Phase)
            found += [state.reading for one in ids if (state := self._states.get(one))]
        return tuple(found)

    def problems(self, key: Key, names: Iterable[str]) -> tuple[Problem, ...]:
        """The names that mean nothing."""
        unknown = [name for name in names if name not in self.rows and name != NO_NAMES]
        if not unknown or (self._at_once and not self.rows):
            return ()  # In a command the config file may not have been read.
        there = ", ".join(sorted(self.rows)) or "it has none"
        return tuple(
            Problem(
                f"{DOMAIN}gates for {key}: the config file has no gate {name!r}; "
                f"gates that it has: {there}"
            )
            for name in unknown
        )

    # Who waits

    def take_note(self, snapshot: Snapshot, plan: Plan) -> None:
        """What came of a look at a workload: whether it waits for its gates."""
        key = snapshot.workload.key
        if plan.reason is Reason.PACED:
            return  # It has been let through, and waits for its turn alone.
        if plan.asks is None:
            self.leave(key)
            return
        rows = filter(None, map(self.rows.get, snapshot.policy.pace.gates))
        self._wait(key, frozenset(_id(row, key, plan.asks) for row in rows))

    def _wait(self, key: Key, wanted: frozenset[GateId]) -> None:
        for one in self._of.get(key, frozenset()) - wanted:
            self._drop(one, key)
        for one in wanted - self._of.get(key, frozenset()):
            state = self._states.get(one)
            if state is None:
                reading = GateReading(one.gate, phase=one.phase)
                state = self._states[one] = _State(reading, {}, {})
                self._ask(one)
            state.waiting[key] = state.unserved[key] = None
        self._of[key] = wanted

    def leave(self, key: Key) -> None:
        """It waits for none, or is gone."""
        for one in self._of.pop(key, ()):
            self._drop(one, key)

    def _drop(self, one: GateId, key: Key) -> None:
        state = self._states[one]
        state.waiting.pop(key, None)
        state.unserved.pop(key, None)
        if not state.waiting:
            del self._states[one]

    # Who asks

    def on_wait(self, ask: Callable[[GateId], None]) -> None:
        """Call `ask(id)` when somebody begins to wait."""
        self._ask = ask

    def is_awaited(self, one: GateId) -> bool:
        return one in self._states

    def answered(self, one: GateId, found: Measured, now: datetime) -> None:
        """What a question came to."""
        state, row = self._states.get(one), self.rows[one.gate]
        if state is None:
            return
        before = state.reading
        state.failures = state.failures + 1 if found.is_failure else 0
        failed = state.failures >= row.failures
        why = found.why
        if found.is_failure and row.failures > 1:
            why += f", {min(state.failures, row.failures)} of {row.failures} in a row"
        since = before.since if before.answer is found.answer else now
        state.reading = GateReading(one.gate, found.answer, why, now, since, failed, one.phase)
        is_news = (before.answer, before.failed) != (found.answer, failed)
        for key in tuple(state.waiting if is_news else state.unserved):
            self._wake(key)
        state.unserved.clear()

    def awaited(self) -> Iterable[GateId]:
        """All that somebody waits for."""
        return tuple(self._states)

    def counts(self) -> Iterable[tuple[tuple[str, str], int]]:
        """How many questions there are, by gate and by what was last said."""
        found = Counter(
            (one.gate, str(state.reading.answer or "asked")) for one, state in self._states.items()
        )
        return found.items()

    def reset(self) -> None:
        """Nobody asks any more: what was said is forgotten."""
        for one, state in self._states.items():
            state.reading, state.failures = GateReading(one.gate, phase=one.phase), 0


def _id(row: Gate, key: Key, phase: Phase) -> GateId:
    """Questions that are alike for several workloads are one."""
    if row.per_workload:
        told = phase if isinstance(row.question, Webhook | Analysis) else None
        return GateId(row.name, key.namespace, key, told)
    return GateId(row.name, key.namespace if row.per_namespace else "")
