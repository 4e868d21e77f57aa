"""What one decision looks at, put together from the world."""

from typing import TYPE_CHECKING

from reroll.core.observe.health import State
from reroll.core.observe.snapshot import RolloutFacts, Snapshot
from reroll.core.tables.kinds import Kind
from reroll.engine.canaries import is_within, staged_facts
from reroll.engine.reach import consented, unreachable
from reroll.engine.tracked import TemplateOf, Tracked, copies_of

if TYPE_CHECKING:
    from reroll.engine.world import World


def standing(world: "World", tracked: Tracked, kind: Kind) -> Snapshot:
    """Everything about one workload, except for what it has to know of others."""
    key, sources = tracked.workload.key, world.sources
    home = key.namespace
    refs, problems = consented(tracked.references, home, sources)
    refs += tuple(world.references.unexpanded(tracked))
    problems += unreachable(tracked.policy.named, home, world.scope, sources, refs)
    problems += world.overlap.problems(key)
    is_governed = world.propagation.governs(key)
    is_judged = is_governed or is_within(kind, tracked.workload, tracked.policy)
    rollout = _rollout(world, tracked, is_judged=is_judged)
    diagnosis = tracked.diagnosis if rollout and rollout.is_read else None
    staged = staged_facts(tracked.for_decisions, rollout, diagnosis)
    return Snapshot(
        workload=tracked.for_decisions,
        kind=kind,
        policy=tracked.policy,
        references=refs,
        sources={ref.source: sources.content_for(ref.source, home) for ref in refs},
        gone={ref.source: sources.gone_at(ref.source) for ref in refs},
        keys=world.keys,
        ordered=world.one_store,
        secrets_at=sources.keyed_at((ref.source for ref in refs), home),
        handovers=tracked.handovers,
        restores_at=tracked.restores_at,
        patterns=tuple(str(p) for p in tracked.policy.named if p.is_glob),
        waiting_since=tracked.waiting_since,
        quiet_since=tracked.quiet_since,
        copies_missing=world.copies.missing(copies_of(tracked.workload)),
        problems=problems,
        records_known=world.records_known and key not in world.unrecorded,
        crowded=tracked.is_crowded,
        has_room=not world.references.room.is_out(key),
        calendar=world.scope.calendar.rows,
        cluster_hold=world.hold,
        governed=is_governed,
        rollout=rollout,
        canary=staged or world.canaries.facts(key),
        diagnosis=diagnosis,
    )


def _rollout(world: "World", tracked: Tracked, *, is_judged: bool) -> RolloutFacts | None:
    """How its rollout goes, or that of the Rollout which runs its template.

    Of one that nobody judges, only until it is complete.
    """
    workload = tracked.workload
    runner = world.lenders.runner(workload.key)
    known = world.health.watched(runner)
    if known is None or (known.health.state is State.DONE and not is_judged):
        return None
    health = known.health.seen_by(workload.generation if runner != workload.key else 0)
    return RolloutFacts(
        health,
        known.done_since if health is known.health else None,
        known.failed_since,
        known.progressed_at,
        is_foreign=tracked.is_foreign,
        is_unwatched=tracked.template_of is TemplateOf.UNWATCHED,
        read_at=tracked.read_at,
        grew_at=known.grew_at,
    )
