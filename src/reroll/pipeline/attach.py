"""Makes revisions of workloads owners of the content-named configs that they use.

A config belongs to every revision that names it, so Kubernetes collects it with the last of them. A
kind that keeps no revisions owns its configs itself.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import NamedTuple

import msgspec

from reroll.clock import Clock
from reroll.core.model.key import Key
from reroll.core.model.metadata import Manifest, pick
from reroll.core.observe.progress import is_observed
from reroll.core.observe.workload import belongs_to_workload
from reroll.core.revisions.content_names import ATTACHING, CONTENT_OF
from reroll.core.revisions.mentions import mentioned
from reroll.core.tables.kinds import KINDS, Kind, Revisions
from reroll.kube import aio, api, owners, resources
from reroll.kube.errors import ApiError, NotFound
from reroll.kube.objects import OwnerRef, Revision, Stub, is_owned_by
from reroll.kube.view import View
from reroll.pipeline import usage

POLL = 0.5


class Selection(NamedTuple):
    """Which workloads, which configs, and how long to wait for revisions."""

    workloads: Sequence[tuple[Kind, str]] = ()
    """By name; none: all with the labels of `selector`."""
    selector: str | None = None
    configs: Sequence[tuple[str, str]] = ()
    """Kind and name of the only ones to look at; none: all."""
    patience: timedelta = timedelta()
    dry_run: bool = False


class Deployed(NamedTuple):
    """A workload with its revisions, the newest last."""

    kind: Kind
    manifest: Manifest
    revisions: Sequence[Revision] = ()

    @property
    def key(self) -> Key:
        metadata = self.manifest.metadata
        return Key(self.kind.name, metadata.namespace, metadata.name)

    @property
    def is_ready(self) -> bool:
        """Whether the revision of its current template is there, or will not come."""
        if self.kind.revisions is Revisions.NONE:
            return True
        paused = pick(self.manifest, self.kind.still) == msgspec.Raw(b"true")
        observed = is_observed(self.manifest.status, self.manifest.metadata.generation)
        return observed and (bool(self.revisions) or paused)

    def lacks_revision(self, names: frozenset[str]) -> bool:
        """Whether its template names configs that its newest revision does not: it is paused."""
        template = pick(self.manifest, self.kind.template)
        if self.kind.revisions is Revisions.NONE or not template:
            return False
        newest = self.revisions[-1].mentions(names) if self.revisions else frozenset()
        return not mentioned(bytes(template), names) <= newest

    def owners(self, names: frozenset[str]) -> list[tuple[OwnerRef, str]]:
        """Its owners to be, each with one of the configs `names` that it uses."""
        if self.kind.revisions is Revisions.NONE:
            metadata = self.manifest.metadata
            helper = ATTACHING.items() <= (metadata.labels or {}).items()
            if helper or belongs_to_workload(metadata):
                return []
            itself = OwnerRef.of(resources.of(self.kind), metadata)
            return [(itself, name) for name in sorted(mentioned(bytes(self.manifest.spec), names))]
        resource = resources.REVISIONS[self.kind.revisions]
        return [
            (OwnerRef.of(resource, one.metadata), name)
            for one in self.revisions
            for name in sorted(one.mentions(names))
        ]


class Result(NamedTuple):
    workload: Key
    owner: OwnerRef
    config: Key
    result: str
    problem: str = ""


class Attached(NamedTuple):
    results: list[Result]
    gaps: list[str]
    """What could not be read."""
    late: list[Key]
    """Workloads whose newest revision did not come in time."""
    paused: list[Key]
    """Workloads whose template has no revision while they are paused."""


async def attach(
    view: View, selection: Selection, clock: Clock, on_wait: Callable[[Sequence[Key]], None]
) -> Attached:
    """Attach what is selected; `on_wait` is called once if revisions have to be waited for."""
    workloads = await _await_revisions(view, selection, clock, on_wait)
    gaps, view.gaps = sorted(view.gaps), []
    configs = await _configs(view, selection.configs)
    gaps += sorted(view.gaps)
    names = usage.by_namespace(usage.Place(key.namespace, key.name) for key in configs)
    late = [one.key for one in workloads if not one.is_ready]
    paused = [
        one.key
        for one in workloads
        if one.is_ready and one.lacks_revision(names.get(one.key.namespace, frozenset()))
    ]
    dry_run = selection.dry_run
    results = await _attach_all(view, workloads, configs, names, dry_run=dry_run)
    return Attached(results, gaps, late, paused)


def of_workload(uid: str, revisions: Iterable[Revision]) -> list[Revision]:
    """The revisions of one workload that are to stay, the newest last."""
    own = [
        one
        for one in revisions
        if is_owned_by(one.metadata, uid) and one.metadata.deletion_timestamp is None
    ]
    return sorted(own, key=lambda one: one.number)


# What there is


async def _await_revisions(
    view: View, selection: Selection, clock: Clock, on_wait: Callable[[Sequence[Key]], None]
) -> list[Deployed]:
    end, waits = clock.monotonic() + selection.patience.total_seconds(), False
    while True:
        view.gaps.clear()
        workloads = await _with_revisions(view, await _workloads(view, selection))
        late = [one.key for one in workloads if not one.is_ready]
        if not late or clock.monotonic() >= end:
            return workloads
        if not waits:
            on_wait(late)
            waits = True
        await asyncio.sleep(POLL)


async def _workloads(view: View, selection: Selection) -> list[tuple[Kind, Manifest]]:
    if not selection.workloads:
        by = selection.selector
        listed = await aio.gather(
            view.every(resources.of(kind), Manifest, label_selector=by) for kind in KINDS
        )
        return [(kind, one) for kind, some in zip(KINDS, listed, strict=True) for one in some]
    workloads = []
    for kind, name in selection.workloads:
        manifest = await view.get(resources.of(kind), view.namespace, name, Manifest)
        if manifest is None and not view.gaps:
            raise NotFound(f"{Key(kind.name, view.namespace or '', name)} does not exist")
        if manifest is not None:
            workloads.append((kind, manifest))
    return workloads


async def _with_revisions(view: View, workloads: list[tuple[Kind, Manifest]]) -> list[Deployed]:
    sorts = sorted({kind.revisions for kind, _ in workloads} - {Revisions.NONE})
    listed = {sort: await view.every(resources.REVISIONS[sort], Revision) for sort in sorts}
    return [
        Deployed(kind, manifest, of_workload(manifest.metadata.uid, listed.get(kind.revisions, ())))
        for kind, manifest in workloads
    ]


async def _configs(view: View, wanted: Sequence[tuple[str, str]]) -> dict[Key, Stub]:
    """The content-named configs: those that were named, or all."""
    if not wanted:
        return await usage.configs(view, CONTENT_OF)
    keys = [Key(kind, view.namespace or "", name) for kind, name in wanted]
    return {key: one for key in keys if (one := await _config(view, key))}


async def _config(view: View, key: Key) -> Stub | None:
    resource = resources.CONFIGS[key.kind]
    try:
        config = await api.get(view.client, resource, key.namespace, key.name, Stub)
    except ApiError as error:
        view.gaps.append(str(error))
        return None
    if CONTENT_OF not in (config.metadata.labels or {}):
        view.gaps.append(
            f"{key} has no label {CONTENT_OF}; only what `reroll render --names` made is attached"
        )
        return None
    return config


# What is done


async def _attach_all(
    view: View,
    workloads: list[Deployed],
    configs: Mapping[Key, Stub],
    names: Mapping[str, frozenset[str]],
    *,
    dry_run: bool,
) -> list[Result]:
    wanted: dict[Key, list[tuple[Key, OwnerRef]]] = {}
    order: dict[str, int] = {}
    for one in workloads:
        here = names.get(one.key.namespace, frozenset())
        for owner, name in reversed(one.owners(here)):  # the newest first
            order.setdefault(owner.uid, len(order))
            for kind in resources.CONFIGS:
                key = Key(kind, one.key.namespace, name)
                if key in configs:
                    wanted.setdefault(key, []).append((one.key, owner))
    results = await aio.gather(
        _attach_one(view, key, configs[key], those, dry_run=dry_run)
        for key, those in wanted.items()
    )
    flat = [one for several in results for one in several]
    return sorted(flat, key=lambda one: (one.workload, order[one.owner.uid], one.config))


async def _attach_one(
    view: View, key: Key, config: Stub, wanted: list[tuple[Key, OwnerRef]], *, dry_run: bool
) -> list[Result]:
    missing = [owner for _, owner in wanted if not is_owned_by(config.metadata, owner.uid)]
    problem = ""
    try:
        if missing and not dry_run:
            await owners.change(view.client, resources.CONFIGS[key.kind], key, missing)
    except ApiError as error:
        problem = str(error)
    done = "would be attached" if dry_run else "attached"
    done = "failed" if problem else done
    return [
        Result(workload, owner, key, done if owner in missing else "was attached", problem)
        for workload, owner in wanted
    ]
