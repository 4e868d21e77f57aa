"""What tests of trials share: a workload that rolled with `TWO`, and what came of it."""

from datetime import timedelta
from typing import Any

import msgspec
from tests.core.build import KIND, NOW, content
from tests.core.decide.test_decide_revisions import (
    APP,
    DB,
    LATER,
    ONE,
    POLICY,
    TWO,
    Pins,
    pins,
    record,
    seen,
)

from reroll.core.decide.chains import decide
from reroll.core.decide.plan import Plan
from reroll.core.model.content import Content
from reroll.core.model.key import Key
from reroll.core.model.pace import OnFailure, Pace
from reroll.core.model.record import Record, Trial
from reroll.core.observe.health import Health, State
from reroll.core.observe.snapshot import RolloutFacts
from reroll.core.revisions.pins import write_pins
from reroll.core.tables.kinds import Kind

BACK = Pace(on_failure=OnFailure.ROLLBACK)
THREE = content({"a": "3"}, LATER)
ENTRY, SECRET = "configmap/app", "secret/db"
A_MINUTE = timedelta(minutes=1)
OTHER = Key("Deployment", "shop", "other")
DONE, GOES_ON = Health(State.DONE, ""), Health(State.GOES_ON, "")
OVER = RolloutFacts(DONE, done_since=NOW - A_MINUTE)
UNDER_WAY = RolloutFacts(GOES_ON)
READ = RolloutFacts(GOES_ON, read_at=NOW)
"""Its pods were read just now, and tell nothing new."""


def looked(
    sources: dict[Any, Any],
    last: Record | None,
    template: Pins | None,
    *,
    pace: Pace = BACK,
    kind: Kind = KIND["Deployment"],
    rollout: RolloutFacts = OVER,
    **more: Any,
) -> Plan:
    policy = msgspec.structs.replace(more.pop("policy", POLICY), pace=pace)
    return decide(
        seen(
            sources, last, template, kind=kind, policy=policy, governed=True, rollout=rollout,
            **more,
        ),
        NOW,
    )  # fmt: skip


def tried(
    trial: Trial, good: Pins | None = None, held: dict[Any, Content] | None = None, **more: Any
) -> Record:
    """It rolled with what `held` is a minute ago."""
    content_held = held or {APP: TWO}
    more = {"rolled": NOW - A_MINUTE, "good": write_pins(good or pins(ONE)), **more}
    recorded = pins(content_held.get(APP), content_held.get(DB))
    return record(content_held, recorded, trial=trial, **more)


FAILED = Trial([ENTRY], v="failed", at=NOW, why="pod web-1: CrashLoopBackOff")
GONE_BACK = msgspec.structs.replace(FAILED, back=NOW - A_MINUTE, b="healthy")


def taken_back(trial: Trial = GONE_BACK, **more: Any) -> Record:
    made = tried(trial, **more)
    return msgspec.structs.replace(made, why="RolledBack", held=NOW - A_MINUTE)
