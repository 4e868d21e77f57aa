"""Workloads with a past: what happened to one, step by step, and what is judged of it."""

from datetime import datetime, timedelta
from typing import Self

import msgspec
from tests.core.build import EAGER, KIND, NOW, content, reference, snapshot
from tests.core.cluster import APP

from reroll.core.decide.chains import decide
from reroll.core.decide.situation import Circumstances, Situation, situation
from reroll.core.model.digest import reference_digest
from reroll.core.model.moment import Moment
from reroll.core.model.record import Record
from reroll.core.observe.health import Health, State
from reroll.core.observe.pods import PodFacts
from reroll.core.observe.provenance import Write, Writes
from reroll.core.observe.snapshot import Absence, Snapshot
from reroll.core.observe.snapshot import History as Revisions
from reroll.core.observe.staleness import Finding, HeldSince, judge
from reroll.core.policy.policy import Hold
from reroll.core.policy.references import Use
from reroll.core.tables.kinds import Strategy

USED = reference(APP)
HOUR = timedelta(hours=1)
USE = Use("ConfigMap", APP.name, "envFrom of container main", container="main")
DONE = Health(State.DONE, total=1, updated=1, ready=1)
GOES_ON = Health(State.GOES_ON, "0 of 1 pods are new", 1, 0, 1, replacing=True)


def at(hours: float) -> datetime:
    return NOW - 24 * HOUR + hours * HOUR


def digest(value: str) -> str:
    return reference_digest(USED, content({"a": value}), "") or ""


def audited(started: datetime, written: datetime) -> tuple[Finding, ...]:
    """What `reroll audit` finds by times."""
    writes = Writes(at(-100), (Write("kubectl", written, frozenset("a"), only_data=True),))
    return tuple(judge("shop", [USE], {"main": HeldSince(started)}, lambda _: writes))


def pod(started: datetime, written: datetime, **more: object) -> PodFacts:
    found = PodFacts("web-1", started, findings=audited(started, written))
    return msgspec.structs.replace(found, **more)


def seen(
    record: Record | None,
    value: str = "new",
    written: datetime = NOW,
    strategy: Strategy | None = None,
    kind: str = "Deployment",
) -> Snapshot:
    policy = msgspec.structs.replace(EAGER, strategy=strategy)
    held = content({"a": value}, Moment(0, 50, written))
    return snapshot({USED: held}, record, kind=KIND[kind], policy=policy)


def judged(looked_at: Snapshot, evidence: Circumstances) -> Situation:
    return situation(looked_at, decide(looked_at, NOW), evidence, NOW)


def record_of(value: str, when: datetime, why: str, how: str = "", **more: object) -> Record:
    found = Record(1, when, why, {"configmap/app": digest(value)}, how=how)
    return msgspec.structs.replace(found, rolled=when if how else None, **more)


# Random histories


class History:
    """A workload with one pod that runs, acted on by a controller as the strategies do."""

    def __init__(self, strategy: Strategy) -> None:
        self.strategy, self.hour = strategy, 0
        self.value, self.written = "0", at(0)
        self.pod_value, self.started = "0", at(0)
        self.record: Record | None = None
        self.health = DONE
        self.crashes = self.is_held = self.is_missing = False
        self.rolls: list[Record] = []
        """The records of its rolls, as its revisions keep them."""

    @classmethod
    def of(cls, steps: list[str], strategy: Strategy) -> Self:
        past = cls(strategy)
        for step in steps:
            past.step(step)
        return past

    def snapshot(self) -> Snapshot:
        now = seen(self.record, self.value, self.written, self.strategy)
        if self.is_missing:
            now = msgspec.structs.replace(now, sources={APP: Absence.MISSING})
        hold = Hold(why="incident 42") if self.is_held else None
        policy = msgspec.structs.replace(now.policy, hold=hold)
        return msgspec.structs.replace(now, policy=policy, history=Revisions(at(0)))

    def evidence(self) -> Circumstances:
        pods = [pod(self.started, self.written)]
        if self.crashes and self.health is GOES_ON:
            sick = "CrashLoopBackOff (exit 1)"
            new = pod(at(self.hour), self.written, name="web-2", runs=False, trouble=sick)
            pods.append(new)
        return Circumstances(tuple(pods), self.health)

    def step(self, what: str) -> None:
        self.hour += 1
        getattr(self, what)()

    def change(self) -> None:
        self.value, self.written = f"{self.hour % 3}", at(self.hour)

    def restart_pod(self) -> None:
        self.pod_value, self.started = self.value, at(self.hour)

    def lose_record(self) -> None:
        self.record = None

    def lose_key(self) -> None:
        if self.record:
            self.record = msgspec.structs.replace(
                record_of(self.value, at(self.hour), "KeyLost", self.record.how),
                rolled=self.record.rolled,
                by=self.record.by,
            )

    def look(self) -> None:
        """Adopt it, or roll it; its pod follows later, or never."""
        if self.record is None:
            self.record = record_of(self.value, at(self.hour), "Adopted")
        elif self.record.s["configmap/app"] != digest(self.value) and not self.is_held:
            self.record = record_of(
                self.value, at(self.hour), "ConfigChanged", self.strategy, by=["configmap/app"]
            )
            self.rolls.append(self.record)
            self.crashes = False
            self.health = GOES_ON if self.strategy is Strategy.STAMP else DONE

    def finish(self) -> None:
        if self.health is GOES_ON:
            self.restart_pod()
            self.health = DONE

    def crash(self) -> None:
        self.crashes = self.health is GOES_ON

    def hold(self) -> None:
        self.is_held = not self.is_held

    def remove(self) -> None:
        self.is_missing = not self.is_missing

    def undo(self) -> None:
        """Of a rollout that is stuck: the pod of before stays."""
        if self.health is GOES_ON and self.record:
            self.record = msgspec.structs.replace(
                self.record, why="Undone", at=at(self.hour), declined=["configmap/app"]
            )
            self.health = DONE


OFTEN = ("change", "look") * 3
TROUBLES = ("crash", "hold", "remove")
STEPS = (*OFTEN, "finish", "finish", "restart_pod", "undo", "lose_record", "lose_key")
BACK_AND_FORTH = ["look", "change", "look", "finish", "look", "change", "restart_pod", "change"]
"""A pod that restarted by itself has a content that came and went after the roll."""
