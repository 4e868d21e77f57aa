"""The breaker: a workload whose sources keep changing rolls so often, and once when it is quiet."""

from datetime import timedelta
from typing import Any

import msgspec
from tests.core.build import EAGER, NOW, snapshot
from tests.core.decide.test_decide_revisions import APP, ONE, TWO, record

from reroll.core.decide.actions import ReadWriters
from reroll.core.decide.chains import decide
from reroll.core.decide.plan import Plan
from reroll.core.model.pace import Pace, Rolls
from reroll.core.model.record import Burst
from reroll.core.tables.reasons import Reason

A_MINUTE = timedelta(minutes=1)


def flapped(rolls: Rolls, number: int, since: timedelta, **more: Any) -> Plan:
    last = record({APP: ONE}, None, rolled=NOW - timedelta(seconds=1),
                  burst=Burst(number, NOW - since))  # fmt: skip
    policy = msgspec.structs.replace(EAGER, pace=Pace(max_rolls=rolls))
    return decide(snapshot({APP: TWO}, last, policy=policy, **more), NOW)


THREE_A_MINUTE = Rolls(3, A_MINUTE)


def test_the_breaker_is_open_until_it_is_quiet_or_its_time_is_over() -> None:
    quiet = {"quiet_since": NOW - timedelta(seconds=1)}
    plan = flapped(THREE_A_MINUTE, 3, timedelta(seconds=30), **quiet)
    assert plan.reason is Reason.FLAPPING
    assert plan.look_at == NOW + timedelta(seconds=19)
    assert flapped(THREE_A_MINUTE, 2, timedelta(seconds=30), **quiet).reason is (
        Reason.CONFIG_CHANGED
    )
    still = {"quiet_since": NOW - timedelta(seconds=20)}
    rolled = flapped(THREE_A_MINUTE, 3, timedelta(seconds=30), **still)
    assert rolled.reason is Reason.CONFIG_CHANGED
    assert rolled.record is not None
    assert rolled.record.burst == Burst(4, NOW - timedelta(seconds=30))
    over = flapped(THREE_A_MINUTE, 3, A_MINUTE, **quiet)
    assert (over.reason, over.record and over.record.burst) == (Reason.CONFIG_CHANGED, None)
    off = flapped(Rolls(0, timedelta(hours=1)), 500, timedelta(seconds=1), **quiet)
    assert off.reason is Reason.CONFIG_CHANGED


def test_who_writes_is_read_once_and_then_said() -> None:
    quiet = {"quiet_since": NOW}
    asked = flapped(THREE_A_MINUTE, 3, timedelta(seconds=30), **quiet)
    assert asked.actions == (ReadWriters((APP.source,)),)
    names = {APP.source: ("argocd", "vault")}
    told = flapped(THREE_A_MINUTE, 3, timedelta(seconds=30), writers=names, **quiet)
    assert (told.reason, told.actions) == (Reason.FLAPPING, ())
    assert f"{APP.source}, written by argocd, vault" in told.message
