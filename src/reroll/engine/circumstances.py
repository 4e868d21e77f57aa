"""Gathers what `core.decide.situation` judges by: pods, their times, rollouts, our Events.

Reads only. What may not be read is a note: the rest is still answered.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from reroll.core.decide.plan import Plan
from reroll.core.decide.situation import Circumstances, Met, Situation, situation
from reroll.core.model.key import Key
from reroll.core.model.metadata import Manifest
from reroll.core.observe.health import health
from reroll.core.observe.pods import PodFacts
from reroll.core.observe.provenance import Writes
from reroll.core.observe.staleness import Known
from reroll.core.tables.kinds import Kind
from reroll.core.tables.reasons import Reason
from reroll.engine.configs import writes_of
from reroll.engine.listing import Listing
from reroll.engine.observer import Decision
from reroll.engine.our_events import ReportedEvent, our_events
from reroll.engine.owned_pods import owned_pods
from reroll.kube.view import View

_REASONS = {reason.word: reason for reason in Reason}


class Judged(NamedTuple):
    """A decision with what is so of its workload; `None` for one that is not managed."""

    decision: Decision
    situation: Situation | None = None

    @property
    def key(self) -> Key:
        return self.decision.key

    @property
    def plan(self) -> Plan:
        """In the words that the evidence allows."""
        return self.situation.plan if self.situation else self.decision.plan


async def judged(
    view: View, listing: Listing, decisions: Iterable[Decision], now: datetime
) -> list[Judged]:
    """The decisions, with what is so of their workloads."""
    made = list(decisions)
    if not any(one.snapshot for one in made):
        return [Judged(one) for one in made]
    apart = view.again()
    pods = await _pods(apart, listing, made)
    if apart.gaps:  # Those who may not read pods are told what the records say.
        listing.notes.append(f"what pods run is not known: {apart.gaps[0]}")
    events = await _last(apart, listing, made)
    return [_judged(listing, one, pods, events.get(one.key), now) for one in made]


async def situations(
    view: View, listing: Listing, keys: Collection[Key] | None, now: datetime
) -> list[Situation]:
    """What is so of those of these workloads that are opted in, with a listing of its own.

    `None` stands for all of them. What may not be read is a gap of `view`, which is the listing's.
    """
    if keys is not None and not keys:
        return []

    def chosen(kind: Kind, manifest: Manifest) -> bool:
        name = manifest.metadata
        return keys is None or Key(kind.name, name.namespace, name.name) in keys

    await listing.fill(chosen, {key.kind for key in keys or ()})
    known = await judged(view, listing, await listing.decisions(listing.workloads), now)
    return [one.situation for one in known if one.situation and not one.plan.reason.out]


def _judged(
    listing: Listing,
    one: Decision,
    pods: Mapping[Key, list[PodFacts]] | None,
    event: Met | None,
    now: datetime,
) -> Judged:
    if one.snapshot is None:
        return Judged(one)
    runner = listing.world.lenders.runner(one.key)
    owners = dict.fromkeys((one.key, runner))
    found = None if pods is None else tuple(p for key in owners for p in pods.get(key, ()))
    kind, manifest = listing.running(runner)
    evidence = Circumstances(found, health(kind, manifest), event)
    return Judged(one, situation(one.snapshot, one.plan, evidence, now))


async def _pods(
    apart: View, listing: Listing, made: list[Decision]
) -> dict[Key, list[PodFacts]] | None:
    """By workload; `None` if not all that it takes may be read."""
    sources = {r.source for one in made if one.snapshot for r in one.snapshot.references}
    written = {**listing.written, **await writes_of(apart, sources - listing.written.keys())}
    apart.gaps.clear()  # What may not be read of a source is a gap already.

    def known(source: Key) -> Writes | None:
        if source not in sources:
            raise KeyError(source)
        return written.get(source)

    async def learnt(_: Collection[str]) -> Known:
        return known

    found: dict[Key, list[PodFacts]] = {}
    for pod in await owned_pods(apart, None, learnt):
        found.setdefault(pod.workload, []).append(pod.facts)
    return None if apart.gaps else found


async def _last(apart: View, listing: Listing, made: list[Decision]) -> dict[Key, Met]:
    """The last of our Events on each workload, where it tells what was in the way."""
    keys = [(listing.workloads[one.key].kind, one.key) for one in made if one.snapshot]
    last: dict[Key, ReportedEvent] = {}
    for event in sorted(await our_events(apart, keys), key=lambda one: one.at):
        if event.reason in _REASONS:
            last[event.workload] = event
    return {
        key: Met(reason, event.message, event.at)
        for key, event in last.items()
        if (reason := _REASONS[event.reason]).met
    }
