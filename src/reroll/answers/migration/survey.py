"""Gathers what a migration is judged by: the controllers, and every workload with its Namespace.

Reads only. What may not be read is a gap of the view, and the rest is surveyed.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from reroll.answers.controllers import Lease, Survey
from reroll.answers.migration.check import TITLES, Candidate, Findings, findings
from reroll.answers.migration.controllers import ConfiguredController, controllers
from reroll.answers.namespaces import namespaces
from reroll.clock import SystemClock
from reroll.core.dialects.rows import PolicyInput
from reroll.core.dialects.table import DIALECTS, Dialects
from reroll.core.model.key import Key
from reroll.core.model.metadata import Manifest
from reroll.core.model.windows import ALWAYS_OPEN
from reroll.core.observe.workload import belongs_to_workload, workload
from reroll.core.policy.policy import Policy
from reroll.core.tables.kinds import KINDS, Kind
from reroll.engine.scope import Namespaces, Scope, dialects, scope
from reroll.kube import resources
from reroll.kube.view import ListedWorkload, View
from reroll.settings.resolve import resolve
from reroll.settings.table import Settings

DEPLOYMENT = KINDS[0]
EVERY = tuple(row.name for row in DIALECTS)


class Gathered(NamedTuple):
    workloads: list[ListedWorkload]
    candidates: list[Candidate]
    controllers: tuple[ConfiguredController, ...]
    dialects: Dialects
    """All of them, with the names that their annotations have here."""

    def findings(self, names: Iterable[str]) -> Findings:
        """What comes of reading the annotations of these dialects."""
        rows = [row for row in self.dialects.rows if row.name in names]
        read = Dialects(rows, self.dialects.options)
        return findings(self.candidates, self.controllers, read)


async def check(view: View) -> Findings:
    """What the other tools do here, and what Reroll will do."""
    return (await _gather(view, KINDS, Settings())).findings(EVERY)


async def survey(view: View, settings: Settings) -> Survey:
    """The part of it that other answers judge, of what a controller with these settings sees."""
    gathered = await _gather(view, settings.tables.kinds, settings)
    found = gathered.findings(settings.dialects)
    left = gathered.findings(set(EVERY) - set(settings.dialects))
    unread = Counter(TITLES[name] for one in left.members for name in one.dialects)
    rolled = tuple(_rolled(gathered.candidates, scope(settings)))
    return Survey(
        gathered.workloads,
        found.controllers,
        found.stuck,
        len(found.members),
        found.problems,
        tuple((key, policy) for key, policy in rolled if _is_paced(policy)),
        tuple(sorted(unread.items())),
        tuple((key, policy) for key, policy in rolled if policy.approval.required),
    )


def _rolled(candidates: Iterable[Candidate], usual: Scope) -> Iterator[tuple[Key, Policy]]:
    """Those that a controller with these settings rolls, and how."""
    for one in candidates:
        seen, metadata = one.workload, one.manifest.metadata
        labels = metadata.labels or {}
        if belongs_to_workload(metadata) or not usual.workloads.matches(labels):
            continue
        default = usual.default_for(seen.key, labels)
        own, below = seen.annotations, seen.template_annotations
        asked = PolicyInput(seen.key, one.kind, own, below, one.namespace, default)
        policy = usual.dialects.policy(asked)
        if policy.enabled:
            yield seen.key, policy


def _is_paced(policy: Policy) -> bool:
    """It says how many at once, or when."""
    return policy.pace.governs or policy.window != ALWAYS_OPEN


async def _gather(view: View, kinds: Iterable[Kind], settings: Settings) -> Gathered:
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
    return Gathered(workloads, candidates, here, spoken)


def _dialects(here: Iterable[ConfiguredController], settings: Settings) -> Dialects:
    """All dialects, with the names that a controller here has for their annotations."""
    names = [
        name
        for each in here
        if each.translation
        for name in each.translation.settings.get("annotation-names", ())
    ]
    file = {"annotation-names": names, "features": list(settings.features), "dialects": [*EVERY]}
    return dialects(resolve({}, {}, file, ""))


async def _deployments_elsewhere(view: View) -> list[Manifest]:
    """The Deployments that are not among the workloads that were asked for."""
    if view.places == (None,):
        return []
    return await view.every(resources.DEPLOYMENTS, Manifest, everywhere=True)
