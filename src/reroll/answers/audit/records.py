"""What Reroll's own records say of pods that are stale by their times."""

from contextlib import suppress
from itertools import product

import msgspec

from reroll.answers.audit.report import Audited
from reroll.clock import Clock
from reroll.core.model.key import Key
from reroll.core.model.metadata import Manifest
from reroll.core.model.record import Record, read
from reroll.core.observe.health import health
from reroll.core.observe.pods import Rollout, rollout
from reroll.core.observe.proof import counted, is_settled
from reroll.core.observe.snapshot import Snapshot
from reroll.core.observe.staleness import Finding, Verdict
from reroll.core.tables.annotations import STATE
from reroll.core.tables.kinds import Kind
from reroll.engine.listing import Listing
from reroll.kube import api, resources
from reroll.kube.errors import Forbidden, NotFound
from reroll.kube.objects import Stub
from reroll.kube.view import View
from reroll.settings.table import Settings

SETTLED = "it was written since, and holds what it held when the workload rolled"


async def with_records(
    view: View, clock: Clock, settings: Settings, pods: list[Audited]
) -> list[Audited]:
    """The pods, without what a record of a roll proves to be unchanged.

    Records, and what they need to be compared, are read only of workloads with pods that are stale
    by their times; who may not read them gets the answer of the times.
    """
    stale = {each.workload for each in pods if each.has(Verdict.STALE)}
    if not stale:
        return pods
    recorded = {key for key in await _recorded(view, settings) if key in stale}
    if not recorded:
        return pods
    apart = view.again()
    known = await _snapshots(apart, clock, settings, recorded)
    return [
        _settled(each, *known[each.workload]) if each.workload in known else each for each in pods
    ]


async def _recorded(view: View, settings: Settings) -> set[Key]:
    """The workloads with a record, as far as they may be listed."""
    found = set()
    for kind, place in product(settings.tables.kinds, view.places):
        with suppress(Forbidden, NotFound):
            for one in await api.every(view.client, resources.of(kind), place, Stub):
                record = read((one.metadata.annotations or {}).get(STATE))
                if isinstance(record, Record):
                    found.add(Key(kind.name, one.metadata.namespace, one.metadata.name))
    return found


async def _snapshots(
    apart: View, clock: Clock, settings: Settings, keys: set[Key]
) -> dict[Key, tuple[Snapshot, Rollout]]:
    listing = Listing(apart, clock, settings, settings.namespace or apart.home)

    def is_one(kind: Kind, manifest: Manifest) -> bool:
        metadata = manifest.metadata
        return Key(kind.name, metadata.namespace, metadata.name) in keys

    await listing.fill(is_one, {key.kind for key in keys})
    found = {}
    for one in await listing.decisions(listing.workloads):
        if one.snapshot:
            kind, manifest = listing.running(listing.world.lenders.runner(one.key))
            found[one.key] = one.snapshot, rollout(kind, health(kind, manifest), (), None)
    return found


def _settled(each: Audited, snapshot: Snapshot, goes: Rollout) -> Audited:
    mine = set(map(id, counted(snapshot, each.findings)))

    def judged(one: Finding) -> Finding:
        is_stale = one.verdict is Verdict.STALE and id(one) in mine
        if not is_stale or not is_settled(snapshot, one, goes):
            return one
        return msgspec.structs.replace(one, verdict=Verdict.CURRENT, certain=False, why=SETTLED)

    return msgspec.structs.replace(each, findings=tuple(map(judged, each.findings)))
