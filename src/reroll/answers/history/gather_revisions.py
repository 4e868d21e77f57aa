"""Gathers one workload with its revisions, their pods and the copies that they are pinned to.

Contents of copies are fingerprinted with a key that lasts for one call, and forgotten at once.
"""

import asyncio
import hashlib
import secrets
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from reroll.answers.errors import AnswerError, missing_sentence
from reroll.answers.history.revisions import (
    Fingerprints,
    RevisionLine,
    RevisionTemplate,
    SourceName,
    revision_lines,
    revision_template,
)
from reroll.core.dialects.table import ALL
from reroll.core.model.key import Key
from reroll.core.model.metadata import Manifest, Metadata
from reroll.core.observe.workload import Workload, workload
from reroll.core.revisions.pins import Pins
from reroll.core.tables.catalog import Tables
from reroll.core.tables.kinds import Kind, Revisions
from reroll.core.tables.source_kinds import CONFIGS
from reroll.kube import api, resources
from reroll.kube.errors import ApiError, Forbidden
from reroll.kube.objects import Pod, Revision, Stub, is_owned_by
from reroll.kube.view import ListedWorkload, View

_RESOURCES = {row.name: resources.of(row) for row in CONFIGS}


class RevisedWorkload(NamedTuple):
    own: ListedWorkload
    """The workload whose template is pinned."""
    runner: ListedWorkload
    """The workload that makes its pods: itself, or the Rollout that runs its template."""
    revisions: list[RevisionTemplate]
    """The oldest first."""


class _Copy(msgspec.Struct, rename="camel"):
    metadata: Metadata
    data: dict[str, str] | None = None
    binary_data: dict[str, str] | None = None


async def read(view: View, kind: Kind, name: str, tables: Tables) -> RevisedWorkload:
    """The workload that was named, be it by the Rollout that runs it or by itself."""
    named = await _get(view, kind, name)
    own, runner = named, named
    if named.workload.borrows:
        own = await _get(view, tables.by_name["Deployment"], named.workload.borrows)
    elif kind.name == "Deployment":
        for row in (row for row in tables.kinds if row.borrows_template):
            for manifest in await view.every(resources.of(row), Manifest):
                borrower = _workload(row, manifest)
                runner = borrower if borrower.workload.borrows == name else runner
    if runner.kind.revisions is Revisions.NONE:
        raise AnswerError(
            f"{runner.workload.key}: Kubernetes keeps no earlier templates of a {runner.kind.kind}"
        )
    return RevisedWorkload(own, runner, await _revisions(view, runner))


async def _get(view: View, kind: Kind, name: str) -> ListedWorkload:
    namespace = view.namespace or view.home
    manifest = await view.get(resources.of(kind), namespace, name, Manifest)
    if manifest is not None:
        return _workload(kind, manifest)
    others = await view.every(resources.of(kind), Manifest)
    known = [Key(kind.name, each.metadata.namespace, each.metadata.name) for each in others]
    raise AnswerError(
        "; ".join([missing_sentence(kind.name, name, known, view.namespace), *view.gaps])
    )


def _workload(kind: Kind, manifest: Manifest) -> ListedWorkload:
    return ListedWorkload(kind, manifest, workload(kind, manifest, None, words=ALL.words))


async def _revisions(view: View, runner: ListedWorkload) -> list[RevisionTemplate]:
    resource = resources.REVISIONS[runner.kind.revisions]
    selector = api.selector(runner.workload.selector) or None
    revisions = [
        each
        for each in await view.every(resource, Revision, label_selector=selector)
        if is_owned_by(each.metadata, runner.workload.uid)
        and each.metadata.deletion_timestamp is None
    ]
    return [revision_template(each) for each in sorted(revisions, key=lambda each: each.number)]


async def lines_of(view: View, revised: RevisedWorkload) -> list[RevisionLine]:
    """What there is to show of each revision, the newest first."""
    copies = {(kind, copy) for one in revised.revisions for (kind, _), copy in one.pins.items()}
    runner = revised.runner.workload
    # A Rollout that borrows its template may have no selector of its own.
    selector = runner.selector or revised.own.workload.selector
    contents, pods = await asyncio.gather(
        _contents(view, runner.key.namespace, copies), _pods(view, runner, api.selector(selector))
    )
    running = [(pod.metadata.name, pod.template_hash) for pod in pods if not pod.is_leaving]
    return revision_lines(revised.revisions, running, contents, runner.key.name)


async def _pods(view: View, runner: Workload, selector: str) -> list[Pod]:
    """None if they may not be listed."""
    if not selector:
        return []
    namespace = runner.key.namespace
    try:
        return await api.every(view.client, resources.PODS, namespace, Pod, label_selector=selector)
    except ApiError:
        return []


async def missing_copies(view: View, namespace: str, pins: Pins) -> list[str]:
    """The copies among these that are not there."""
    return [
        f"{kind} {copy}"
        for (kind, _), copy in sorted(pins.items())
        if await api.find(view.client, _RESOURCES[kind], namespace, copy, Stub) is None
    ]


async def _contents(
    view: View, namespace: str, copies: Iterable[SourceName]
) -> dict[SourceName, Fingerprints | None]:
    """`None`: the copy is gone; one that may not be read is left out, and a gap."""
    key = secrets.token_bytes(32)
    names = sorted(copies)

    async def content(copy: SourceName) -> Fingerprints | None:
        kind, name = copy
        found = await api.find(view.client, _RESOURCES[kind], namespace, name, _Copy)
        data = {**(found.data or {}), **(found.binary_data or {})} if found else {}
        return {each: _fingerprint(text, key) for each, text in data.items()} if found else None

    contents = await asyncio.gather(*map(content, names), return_exceptions=True)
    known: dict[SourceName, Fingerprints | None] = {}
    for copy, fingerprints in zip(names, contents, strict=True):
        if isinstance(fingerprints, Forbidden):
            gap = f"{copy[0]} copies may not be read, so it is not known which keys changed"
            view.gaps += [] if gap in view.gaps else [gap]
        elif isinstance(fingerprints, BaseException):
            raise fingerprints
        else:
            known[copy] = fingerprints
    return known


def _fingerprint(text: str, key: bytes) -> bytes:
    return hashlib.blake2b(text.encode(), key=key, digest_size=16).digest()
