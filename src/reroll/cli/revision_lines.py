"""One workload with its revisions, read from the cluster for `reroll revisions`."""

import asyncio
import hashlib
import secrets
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from reroll.answers.history.revisions import Fingerprints, Kept, Line, Source, kept, lines
from reroll.cli.errors import CommandError
from reroll.cli.select import missing_sentence
from reroll.cli.targets import CONFIGS
from reroll.core.dialects.table import ALL
from reroll.core.model.key import Key
from reroll.core.model.metadata import Manifest, Metadata
from reroll.core.observe.workload import Workload, workload
from reroll.core.revisions.pins import Pins
from reroll.core.tables.kinds import Kind, Revisions, Tables
from reroll.kube import wire
from reroll.kube.errors import Forbidden, NotFound
from reroll.kube.objects import REVISION_KINDS, Revision
from reroll.kube.view import View
from reroll.pipeline.attach import of_workload
from reroll.pipeline.pods import pods_of

_ROWS = {row.name: row for row in CONFIGS}


class Found(NamedTuple):
    kind: Kind
    manifest: Manifest
    workload: Workload


class Revised(NamedTuple):
    own: Found
    """Whose template is pinned."""
    runner: Found
    """What makes its pods: itself, or the Rollout that runs its template."""
    revisions: list[Kept]
    """The oldest first."""


class _Copy(msgspec.Struct, rename="camel"):
    metadata: Metadata
    data: dict[str, str] | None = None
    binary_data: dict[str, str] | None = None


async def read(view: View, kind: Kind, name: str, tables: Tables) -> Revised:
    """The workload that somebody named, be it by the Rollout that runs it or by itself."""
    named = await _get(view, kind, name)
    own, runner = named, named
    borrowers = [row for row in tables.kinds if row.borrows_template]
    if named.workload.borrows:
        own = await _get(view, tables.by_name["Deployment"], named.workload.borrows)
    elif kind.name == "Deployment":
        for row in borrowers:
            for manifest in await view.every(wire.resource_of(row), Manifest):
                found = _found(row, manifest)
                if found.workload.borrows == name:
                    runner = found
    if runner.kind.revisions is Revisions.NONE:
        raise CommandError(
            f"{runner.workload.key}: Kubernetes keeps no earlier templates of a {runner.kind.kind}"
        )
    return Revised(own, runner, await _revisions(view, runner))


async def _get(view: View, kind: Kind, name: str) -> Found:
    namespace = view.namespace or view.home
    manifest = await view.get(wire.resource_of(kind), namespace, name, Manifest)
    if manifest is not None:
        return _found(kind, manifest)
    others = await view.every(wire.resource_of(kind), Manifest)
    known = [Key(kind.name, one.metadata.namespace, one.metadata.name) for one in others]
    raise CommandError("; ".join([missing_sentence(kind.name, name, known), *view.gaps]))


def _found(kind: Kind, manifest: Manifest) -> Found:
    return Found(kind, manifest, workload(kind, manifest, None, words=ALL.words))


async def _revisions(view: View, runner: Found) -> list[Kept]:
    plural = runner.kind.revisions
    resource = wire.Resource("apps", "v1", plural.value, REVISION_KINDS[plural])
    selector = ",".join(f"{key}={value}" for key, value in runner.workload.selector)
    found = await view.every(resource, Revision, label_selector=selector or None)
    return [kept(one) for one in of_workload(runner.workload.uid, found)]


async def told(view: View, revised: Revised) -> list[Line]:
    """What there is to tell of each revision, the newest first."""
    copies = {(kind, copy) for one in revised.revisions for (kind, _), copy in one.pins.items()}
    selected = revised.runner.workload
    if not selected.selector:  # A Rollout that borrows its template may have none of its own.
        owner = revised.own.workload
        selected = msgspec.structs.replace(selected, selector=owner.selector)
    contents, pods = await asyncio.gather(
        _contents(view, selected.key.namespace, copies), pods_of(view.client, selected)
    )
    running = [(pod.metadata.name, pod.revision) for pod in pods]
    return lines(revised.revisions, running, contents, selected.key.name)


async def missing(view: View, namespace: str, pins: Pins) -> list[str]:
    """The copies among these that are not there."""
    found = []
    for (kind, _), copy in sorted(pins.items()):
        resource = wire.resource_of(_ROWS[kind])
        try:
            await view.client.send(wire.get(resource, namespace, copy, metadata_only=True))
        except NotFound:
            found.append(f"{kind} {copy}")
    return found


async def _contents(
    view: View, namespace: str, copies: Iterable[Source]
) -> dict[Source, Fingerprints | None]:
    key = secrets.token_bytes(32)
    wanted = sorted(copies)
    found = await asyncio.gather(*(_content(view, namespace, one, key) for one in wanted))
    return {one: held for one, held in zip(wanted, found, strict=True) if held != {"": b""}}


async def _content(view: View, namespace: str, copy: Source, key: bytes) -> Fingerprints | None:
    """`None`: it is gone. What it holds is forgotten at once."""
    kind, name = copy
    request = wire.get(wire.resource_of(_ROWS[kind]), namespace, name)
    try:
        raw = await view.client.send(request)
    except NotFound:
        return None
    except Forbidden:
        sentence = f"{kind} copies may not be read, so it is not told which keys changed"
        if sentence not in view.gaps:
            view.gaps.append(sentence)
        return {"": b""}
    found = msgspec.json.decode(raw, type=_Copy)
    held = {**(found.data or {}), **(found.binary_data or {})}
    return {each: _fingerprint(text, key) for each, text in held.items()}


def _fingerprint(text: str, key: bytes) -> bytes:
    return hashlib.blake2b(text.encode(), key=key, digest_size=16).digest()
