"""Whatever delays a roll loses nothing, and nothing but a hold delays the way back.

A row for each permission that a roll needs: a new one has to be here too.
"""

from collections.abc import Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec
import pytest
from tests.core.build import KIND, NOW
from tests.core.decide.test_decide_revisions import APP, DB, DB_ONE, ONE, POLICY, TWO, pins, record
from tests.core.decide.trial_cases import A_MINUTE, BACK, FAILED, OTHER, looked, taken_back, tried

from reroll.core.decide.actions import Patch
from reroll.core.decide.draft import Act
from reroll.core.decide.permission import PERMISSION
from reroll.core.decide.pin_state import released
from reroll.core.decide.plan import Plan
from reroll.core.model.approval import Approval
from reroll.core.model.canary import CanaryPolicy
from reroll.core.model.content import Content
from reroll.core.model.gates import Answer, GateReading
from reroll.core.model.pace import Limits, Parallel, Rolls
from reroll.core.model.record import Burst, Record
from reroll.core.model.timing import Hold, SourceTiming
from reroll.core.observe.snapshot import Absence
from reroll.core.observe.spread import Spread, Traffic
from reroll.core.policy.policy import Pause
from reroll.core.policy.references import Use
from reroll.core.policy.windows import parse_windows
from reroll.core.tables.kinds import Strategy
from reroll.core.tables.reasons import Reason

NOTHING: Mapping[str, Any] = MappingProxyType({})


class Delay(NamedTuple):
    """What makes a permission hold a roll back."""

    reason: Reason
    seen: Mapping[str, Any] = NOTHING
    policy: Mapping[str, Any] = NOTHING
    pace: Mapping[str, Any] = NOTHING
    source: Mapping[str, Any] = NOTHING
    """Of the content that is new."""
    record: Mapping[str, Any] = NOTHING
    missing: bool = False
    """Another source that it uses is."""
    has_pins: bool = True
    """A process that reloads needs none, and there is nothing to take it back to."""
    delays_back: bool = False
    delays_release: bool = False


IN_ENV = Use("ConfigMap", "app", "env A of container web", frozenset("a"))
HOUR = timedelta(hours=1)
DELAYS: dict[str, Delay] = {
    "source_missing": Delay(Reason.SOURCE_MISSING, missing=True, delays_release=True),
    "out_of_reach": Delay(
        Reason.OUT_OF_REACH,
        policy={"strategy": Strategy.RELOAD, "revisions": False},
        seen={"changes": {"uses": (IN_ENV,)}},
        has_pins=False,
    ),
    "held": Delay(
        Reason.HELD, policy={"hold": Hold()}, delays_back=True, delays_release=True
    ),
    "source_held": Delay(Reason.HELD, source={"timing": SourceTiming(hold=Hold())}),
    "paused": Delay(Reason.PAUSED, seen={"changes": {"still": True}}, delays_release=True),
    "stopped": Delay(
        Reason.STOPPED,
        seen={"spreads": (Spread(APP.source, stopped_by=OTHER, why="it crashes"),)},
    ),
    "frozen": Delay(Reason.FROZEN, policy={"window": parse_windows("deny 2026-03-01")}),
    "window_closed": Delay(Reason.WINDOW_CLOSED, policy={"window": parse_windows("2090-01-01")}),
    "flapping": Delay(
        Reason.FLAPPING,
        pace={"max_rolls": Rolls(3, HOUR)},
        record={"burst": Burst(3, NOW - A_MINUTE), "rolled": NOW - A_MINUTE},
        seen={"quiet_since": NOW, "writers": {}},
    ),
    "cooling_down": Delay(
        Reason.COOLING_DOWN, pace={"cooldown": HOUR}, record={"rolled": NOW - A_MINUTE}
    ),
    "resting": Delay(
        Reason.RESTING,
        policy={"pause": Pause(HOUR, "mark")},
        record={"rolled": NOW - A_MINUTE},
        seen={"kind": KIND["StatefulSet"]},
    ),
    "debouncing": Delay(Reason.DEBOUNCING, policy={"debounce": HOUR, "debounce_limit": HOUR}),
    "unapproved": Delay(
        Reason.UNAPPROVED, policy={"approval": Approval(required=True)}
    ),  # What it is released to it rolled with before.
    "after_others": Delay(
        Reason.AFTER_OTHERS, seen={"spreads": (Spread(APP.source, before=OTHER),)}
    ),
    "no_room": Delay(
        Reason.CROWDED,
        seen={"traffic": Traffic(Limits(cluster=1, namespace=1), cluster=1, beside=OTHER)},
    ),
    "gated": Delay(
        Reason.GATE_CLOSED,
        pace={"gates": ("calm",)},
        seen={"gates": (GateReading("calm", Answer.CLOSED, "Down fires", NOW, NOW),)},
    ),
    "on_canary": Delay(Reason.ON_CANARY, policy={"canary": CanaryPolicy(Parallel(1))}),
    "paced": Delay(Reason.PACED, seen={"turn_at": NOW + A_MINUTE}, delays_release=True),
}  # fmt: skip


def look(delay: Delay | None, last: Record, template: Any) -> Plan:
    """One decision on a workload, with or without what would delay it."""
    one = delay or Delay(Reason.CONFIG_CHANGED)
    sources: dict[Any, Content | Absence] = {APP: msgspec.structs.replace(TWO, **one.source)}
    if one.missing:
        sources[DB] = Absence.MISSING
    return looked(
        sources, last, template, policy=msgspec.structs.replace(POLICY, **one.policy),
        pace=msgspec.structs.replace(BACK, **one.pace), **one.seen,
    )  # fmt: skip


def test_every_permission_of_a_roll_has_a_row() -> None:
    needed = {row.check.__name__ for row in PERMISSION if Act.ROLL in row.acts}
    assert needed == set(DELAYS)


@pytest.mark.parametrize("delay", DELAYS.values(), ids=DELAYS)
def test_it_delays_a_roll_and_when_it_is_over_the_roll_comes(delay: Delay) -> None:
    held = {APP: ONE, DB: DB_ONE} if delay.missing else {APP: ONE}
    template = pins(ONE, DB_ONE if delay.missing else None) if delay.has_pins else None
    last = record(held, template, **delay.record)
    plan = look(delay, last, template)
    assert plan.reason is delay.reason
    assert not [one for one in plan.actions if isinstance(one, Patch)]

    if delay.missing:  # It is there again.
        plan = looked({APP: TWO, DB: DB_ONE}, last, template)
    else:
        plan = look(None, last, template)
    assert plan.reason is Reason.CONFIG_CHANGED
    assert [one for one in plan.actions if isinstance(one, Patch)]


PINNED = {name: delay for name, delay in DELAYS.items() if delay.has_pins}


@pytest.mark.parametrize("delay", PINNED.values(), ids=PINNED)
def test_only_a_hold_delays_the_way_back(delay: Delay) -> None:
    held = {APP: TWO, DB: DB_ONE} if delay.missing else {APP: TWO}
    good = pins(ONE, DB_ONE) if delay.missing else pins(ONE)
    last = tried(FAILED, good, held, **delay.record)
    plan = look(delay, last, pins(TWO, DB_ONE) if delay.missing else pins(TWO))
    assert plan.reason is (delay.reason if delay.delays_back else Reason.ROLLED_BACK)


@pytest.mark.parametrize("delay", PINNED.values(), ids=PINNED)
def test_a_release_waits_for_people_and_for_its_turn_and_for_nothing_else(delay: Delay) -> None:
    held = {APP: TWO, DB: DB_ONE} if delay.missing else {APP: TWO}
    good = pins(ONE, DB_ONE) if delay.missing else pins(ONE)
    last = released(taken_back(good=good, held=held, **delay.record), NOW)
    plan = look(delay, last, good)
    assert plan.reason is (delay.reason if delay.delays_release else Reason.RELEASED)
