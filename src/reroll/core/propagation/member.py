"""Where a workload stands with the content of one source. Pure, and without a clock.

It follows from its record, from its own state and from what the source holds now, so every replica
finds the same after every restart. What depends on time, a soak or a deadline, is settled by a
verdict in the record.
"""

from collections.abc import Collection
from datetime import timedelta
from enum import StrEnum

import msgspec

from reroll.core.model.content import Content
from reroll.core.model.key import Key
from reroll.core.model.pace import OnFailure, Pace, Parallel, SourcePace
from reroll.core.model.record import Record, Trial
from reroll.core.observe.health import State
from reroll.core.observe.snapshot import Comparison, Snapshot
from reroll.core.tables.kinds import Strategy
from reroll.core.tables.source_kinds import SOURCE_KINDS


class Stage(StrEnum):
    BEHIND = "behind"
    """It is to roll with this content."""
    BLOCKED = "blocked"
    """So it is, and something else than propagation keeps it from that."""
    UNDER_WAY = "under way"
    HEALTHY = "healthy"
    FAILED = "failed"
    STUCK = "stuck"
    """Its rollout makes no progress, which is not the fault of the content."""
    UNJUDGED = "unjudged"
    """It rolled with the content, and says nothing about it."""
    SETTLED = "settled"
    """It has the content, and nobody asked for a verdict."""


class Member(msgspec.Struct, frozen=True, gc=False):
    stage: Stage
    wave: int = 0
    limits: tuple[Parallel, ...] = ()
    """How many may be under way for it to begin; all of them count."""
    moving: bool = False
    """Its pods are being replaced for this source, with this content or the one before."""
    is_free: bool = False
    """It waits for nobody's turn: it is not healthy as it is, so a roll may be the repair, or its
    rollout says nothing."""
    stops: bool = False
    """It failed, and that stops the others."""
    why: str = ""


JUDGED = frozenset(
    (Strategy.STAMP, Strategy.ENV, Strategy.RESTART, Strategy.EVICT, Strategy.RELOAD)
)
"""Strategies after which the health of the workload says something about the content."""
_STAGES = {"healthy": Stage.HEALTHY, "failed": Stage.FAILED, "stuck": Stage.STUCK}


def unjudged(snapshot: Snapshot) -> str:
    """Why the last rollout of a workload says nothing about its content; nothing if it does."""
    facts, trial = snapshot.rollout, snapshot.record.trial if snapshot.record else None
    if trial is not None and trial.sick:
        return "it was not healthy before the roll either"
    if facts is not None and facts.is_foreign:
        return "another writer changed its template since"
    return mute(snapshot)


def mute(snapshot: Snapshot) -> str:
    """Why no rollout of a workload as it is says anything about its content."""
    workload, kind, facts = snapshot.workload, snapshot.kind, snapshot.rollout
    strategy = snapshot.policy.strategy_for(kind)
    health = facts.health if facts else None
    checks = (
        (strategy not in JUDGED, f"strategy {strategy.value!r} replaces no running pods"),
        (not (kind.counts or kind.well), f"the status of a {kind.kind} does not say"),
        (workload.still, "it is paused"),
        (not (workload.replaces_pods or strategy is Strategy.EVICT), "its pods are kept"),
        (health is not None and health.idle, "it has no pods to replace"),
    )  # fmt: skip
    return next((why for applies, why in checks if applies), "")


def members(
    snapshot: Snapshot,
    comparison: Comparison,
    stopped: frozenset[Key] = frozenset(),
    *,
    blocked: bool,
) -> dict[Key, Member]:
    """Where a workload stands with each of its sources; the contents of these were stopped."""
    record, pace = snapshot.record, snapshot.policy.pace
    trial = record.trial if record else None
    changed = {change.reference.source for change in comparison.changes}
    why_not, home = unjudged(snapshot), snapshot.workload.key.namespace
    blocked = blocked or bool(comparison.missing) or snapshot.workload.still
    is_over = snapshot.rollout is not None and snapshot.rollout.health.state is State.DONE
    # What is so of its last rollout alone says nothing about its next one.
    is_free = repairs(snapshot, record) or bool(mute(snapshot))
    waits_for_all = not snapshot.policy.revisions
    found = {}
    for reference in snapshot.references:
        source, entry = reference.source, reference.entry(home)
        content = snapshot.sources.get(source)
        of_source = content.pace if isinstance(content, Content) else None
        is_tried = trial is not None and entry in trial.of
        is_open = is_tried and trial is not None and _is_open(trial) and not why_not
        if source in changed and is_over:
            is_open = False  # Nobody will judge it, and its pods are all there.
        if source in changed:
            waits = blocked or (waits_for_all and bool(changed & stopped - {source}))
            stage = Stage.BLOCKED if waits else Stage.BEHIND
        elif trial is not None and entry in trial.past:
            stage = Stage.FAILED
        elif trial is not None and entry in trial.ok:
            stage = Stage.HEALTHY
        elif not is_tried or trial is None:
            stage = Stage.SETTLED
        else:
            stage = _tried(trial, why_not)
        found[source] = Member(
            stage,
            pace.wave,
            limits(pace, of_source),
            moving=is_open,
            is_free=is_free,
            stops=stage is Stage.STUCK
            or (stage is Stage.FAILED and on_failure(pace, of_source) is not OnFailure.CONTINUE),
            why=trial.why if trial and stage in {Stage.FAILED, Stage.STUCK} else "",
        )
    return found


def _is_open(trial: Trial) -> bool:
    return not trial.b if trial.back else not trial.v


def _tried(trial: Trial, why_not: str) -> Stage:
    verdict = trial.v
    if not verdict and trial.was == Stage.FAILED.value:
        verdict = trial.was  # It was released, and counts as failed until it is found healthy.
    if verdict and not (trial.back and verdict == Stage.HEALTHY.value):
        return _STAGES.get(verdict, Stage.UNJUDGED)
    return Stage.UNJUDGED if why_not or trial.back else Stage.UNDER_WAY


def repairs(snapshot: Snapshot, record: Record | None) -> bool:
    """Whether it is not healthy as it is, so that a roll may be the repair."""
    trial = record.trial if record else None
    if trial is not None and trial.v in {"failed", "stuck"}:
        return True
    facts = snapshot.rollout
    is_ours = trial is not None and _is_open(trial) and not trial.sick
    return facts is not None and facts.health.state is State.FAILED and not is_ours


def limits(pace: Pace, of_source: SourcePace | None) -> tuple[Parallel, ...]:
    said = (pace.max_parallel, of_source.max_parallel if of_source else None)
    return tuple(one for one in said if one and one.is_limited)


def on_failure(pace: Pace, of_source: SourcePace | None) -> OnFailure:
    return pace.on_failure or (of_source.on_failure if of_source else None) or OnFailure.HOLD


KEYED = frozenset(row.name for row in SOURCE_KINDS if row.keyed)


def goes_back(pace: Pace, source: Key, of_source: SourcePace | None) -> bool:
    """Whether a failure takes a workload back from the content of a source.

    An old credential may be revoked: from a Secret only where the Secret itself says so.
    """
    if source.kind in KEYED:
        return of_source is not None and of_source.on_failure is OnFailure.ROLLBACK
    return on_failure(pace, of_source) is OnFailure.ROLLBACK


def soak_of(snapshot: Snapshot, of: Collection[str] | None = None) -> timedelta:
    """How long it has to stay healthy: the longest of what is said, unless a source is urgent.

    `of`: the entries that are on trial, if not those of its last roll.
    """
    if of is None:
        trial = snapshot.record.trial if snapshot.record else None
        of = trial.of if trial else ()
    home, longest = snapshot.workload.key.namespace, snapshot.policy.pace.soak
    for reference in snapshot.references:
        content = snapshot.sources.get(reference.source)
        if not isinstance(content, Content) or reference.entry(home) not in of:
            continue
        if content.timing and content.timing.urgent:
            return timedelta()
        if content.pace:
            longest = max(longest, content.pace.soak)
    return longest
