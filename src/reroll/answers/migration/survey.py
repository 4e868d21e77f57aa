"""Gathers what a migration is judged by: the controllers, and every workload with its Namespace.

Reads only. What may not be read is a gap of the view, and the rest is surveyed.
"""

import asyncio
from collections.abc import Iterable

from reroll.answers.controllers import Lease, Survey
from reroll.answers.migration.check import Candidate, Findings, findings
from reroll.answers.migration.controllers import ConfiguredController, controllers
from reroll.answers.namespaces import namespaces
from reroll.clock import SystemClock
from reroll.core.dialects.table import Dialects
from reroll.core.model.metadata import Manifest
from reroll.core.observe.workload import workload
from reroll.core.tables.kinds import KINDS, Kind
from reroll.engine.scope import Namespaces, dialects, scope
from reroll.kube import resources
from reroll.kube.view import ListedWorkload, View
from reroll.settings.resolve import resolve
from reroll.settings.table import Settings

DEPLOYMENT = KINDS[0]


async def check(view: View, kinds: Iterable[Kind] = KINDS) -> Findings:
    """What the other tools do here, and what Reroll will do."""
    _, found = await _gather(view, kinds, Settings())
    return found


async def survey(view: View, settings: Settings) -> Survey:
    """The part of it that other answers judge, of what a controller with these settings sees."""
    workloads, found = await _gather(view, settings.tables.kinds, settings)
    members = len(found.members)
    return Survey(workloads, found.controllers, found.stuck, members, found.problems)


async def _gather(
    view: View, kinds: Iterable[Kind], settings: Settings
) -> tuple[list[ListedWorkload], Findings]:
    workloads, spaces, leases, deployments = await asyncio.gather(
        view.workloads(kinds),
        namespaces(view),
        view.every(resources.LEASES, Lease, everywhere=True),
        _deployments_elsewhere(view),
    )
    known = {
        each.manifest.metadata.uid: each.manifest for each in workloads if each.kind is DEPLOYMENT
    }
    known |= {manifest.metadata.uid: manifest for manifest in deployments}
    here = controllers(
        ((DEPLOYMENT, manifest) for manifest in known.values()), leases, SystemClock().now()
    )
    spoken = _dialects(here, settings)
    counted = Namespaces(scope(settings), lambda _: None)
    for each in spaces:
        counted.observe(each)
    workloads = [one for one in workloads if counted.that_counts(one.workload.key.namespace)]
    annotations = {each.name: each.annotations or {} for each in spaces}
    candidates = [
        Candidate(
            each.kind,
            each.manifest,
            workload(each.kind, each.manifest, None, words=spoken.words),
            annotations.get(each.workload.key.namespace, {}),
        )
        for each in workloads
    ]
    return workloads, findings(candidates, here, spoken)


def _dialects(here: Iterable[ConfiguredController], settings: Settings) -> Dialects:
    """All dialects, with the names that a controller here has for their annotations."""
    names = [
        name
        for each in here
        if each.translation
        for name in each.translation.settings.get("annotation-names", ())
    ]
    file = {"annotation-names": names, "features": list(settings.features)}
    return dialects(resolve({}, {}, file, ""))


async def _deployments_elsewhere(view: View) -> list[Manifest]:
    """The Deployments that are not among the workloads that were asked for."""
    if view.namespace is None:
        return []
    return await view.every(resources.DEPLOYMENTS, Manifest, everywhere=True)
