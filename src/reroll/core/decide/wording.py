"""What is so of a workload, in words: those that the evidence allows. Pure."""

from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from reroll.core.decide.plan import Plan
from reroll.core.model.names import several
from reroll.core.observe.pods import PodsHave
from reroll.core.observe.proof import sources_of
from reroll.core.observe.snapshot import Snapshot
from reroll.core.policy.durations import ago
from reroll.core.tables.kinds import Strategy
from reroll.core.tables.reasons import Reason

if TYPE_CHECKING:
    from reroll.core.decide.situation import Situation

OPEN = frozenset((Reason.UP_TO_DATE, Reason.ADOPTED, Reason.RECORD_RESTORED))
"""Reasons that say nothing of the pods by themselves."""


def worded(snapshot: Snapshot, found: "Situation", now: datetime) -> Plan:
    """The plan, in the words that the evidence allows."""
    plan, obstacle = found.plan, found.obstacle
    if plan.goes_back:
        why = plan.message.removeprefix(plan.reason.sentence)
        return msgspec.structs.replace(plan, message=f"{GOES_BACK}{why}")
    if plan.reason not in OPEN:
        return plan
    if obstacle and obstacle.reason is Reason.SOURCE_MISSING:
        return _said(plan, Reason.SOURCE_MISSING, obstacle.message)
    declined = found.declined or (found.failed and found.record and found.record.declined)
    if declined:
        names = several(list(declined))
        why = "a rollout failed, so " if found.failed else ""
        return _said(plan, Reason.DECLINED, f"{why}{Reason.DECLINED.sentence}: {names}")
    if found.have is PodsHave.OLDER and _strategy(snapshot) is not Strategy.NEXT_RUN:
        names = ", ".join(str(source) for source in sources_of(found.older))
        sentence = f"{Reason.PODS_OLDER.sentence}: {names}; {_remedy(snapshot)}"
        return _said(plan, Reason.PODS_OLDER, sentence)
    start = plan.message
    if plan.reason is Reason.UP_TO_DATE:
        start = _start(found, now)
    return _said(plan, plan.reason, "; ".join(filter(None, (start, _pods(snapshot, found)))))


def _said(plan: Plan, reason: Reason, message: str) -> Plan:
    """A plan that writes keeps its reason, and says the rest with it."""
    if plan.actions:
        joined = message if message.startswith(plan.message) else f"{plan.message}; {message}"
        return msgspec.structs.replace(plan, message=joined)
    return msgspec.structs.replace(plan, reason=reason, message=message)


def _strategy(snapshot: Snapshot) -> Strategy:
    return snapshot.policy.strategy_for(snapshot.kind)


def _start(found: "Situation", now: datetime) -> str:
    record = found.record
    if found.have is PodsHave.CURRENT:
        return MADE
    if found.have is PodsHave.REPLACING and record:
        return f"it rolled for the current configuration {ago(record.at, now)}"
    if record is None:
        return Reason.UP_TO_DATE.sentence
    return f"{Reason.UP_TO_DATE.sentence} ({record.why}, {ago(record.at, now)})"


GOES_BACK = "it goes back to the configuration that it was last healthy with"
MADE = "its pods were made with the current configuration"
_OF_STRATEGY = {
    Strategy.NEXT_RUN: "its next run reads the current configuration",
    Strategy.RELOAD: "a reload was requested from its pods; what they read then is not known",
    Strategy.TRIGGER: "a Job that it starts reads the current configuration",
}
_REMEDIES = {
    Strategy.NOTIFY: "its strategy `notify` replaces nothing, `reroll restart` does",
    Strategy.RELOAD: "a reload changes no environment, `reroll restart` does",
    Strategy.TRIGGER: "they keep what they started with until they end",
}


def _remedy(snapshot: Snapshot) -> str:
    if not snapshot.workload.replaces_pods:
        return "its pods are replaced when they are deleted"
    usual = "nothing has rolled them since; `reroll sync --stale` does"
    return _REMEDIES.get(_strategy(snapshot), usual)


def _pods(snapshot: Snapshot, found: "Situation") -> str:
    """What is known of its pods, after what is said of the record."""
    strategy, names = _strategy(snapshot), ", ".join(map(str, sources_of(found.older)))
    if strategy is Strategy.NEXT_RUN:
        rest = f"; pods that run already keep an older {names}" if found.older else ""
        return f"{_OF_STRATEGY[strategy]}{rest}" if not snapshot.kind.fixed else rest.lstrip("; ")
    if found.have is PodsHave.REPLACING:
        return f"pods from before that roll still run, with an older {names}"
    if strategy in _OF_STRATEGY and found.record and found.record.rolled:
        return _OF_STRATEGY[strategy]
    if found.have is PodsHave.RECORDED:
        names = ", ".join(map(str, sources_of(found.settled)))
        return f"{names} was written after its pods started, and holds what it held then"
    return _OF_PODS.get(found.have, "")


_OF_PODS = {
    PodsHave.YOUNGER: "its pods started after what they use was last written",
    PodsHave.NONE: "none of its pods runs",
    PodsHave.UNKNOWN: "whether its pods have it is not known",
}
