"""A workload as the engine sees it: a few fields out of a large document.

`Manifest` is what a watch line is decoded into: metadata, with spec and status left as bytes, so
that a workload which did not opt in costs nothing more. `workload` looks into the rest.
"""

import msgspec

from reroll.core.model.key import Key
from reroll.core.model.metadata import Manifest, Metadata, value_in
from reroll.core.model.moment import Moment
from reroll.core.model.podspec import given
from reroll.core.model.record import Record, Unreadable, read
from reroll.core.observe.progress import is_complete, is_observed
from reroll.core.observe.spec import Spec, spec_of
from reroll.core.policy.vocabulary import Vocabulary
from reroll.core.tables.annotations import CANARY, STATE
from reroll.core.tables.catalog import TABLES, Tables
from reroll.core.tables.kinds import Kind, Revisions


class Earlier(msgspec.Struct, frozen=True, gc=False):
    """A template that a workload had before."""

    hash: bytes
    since: Moment
    had: dict[str, str]
    """The digests that its pods had, as the record said."""
    ours: bool = False
    """A roll of ours left it, rather than another writer."""


class Workload(Spec, frozen=True, gc=False, kw_only=True):
    key: Key
    uid: str
    version: int
    generation: int
    annotations: dict[str, str]
    record: Record | Unreadable | None
    """The one on the object."""
    record_text: str | None
    template: Moment
    """When its template last changed in a way that replaced its pods."""
    has_annotations: bool = True
    observed: bool = True
    """Of a template with pins: its controller has seen it."""
    remarked: bool = False
    """Somebody else changed its marks last."""
    ended: bool = False
    idle: bool = False
    """It is suspended, and its pods are gone: those that it starts later are new."""
    earlier: tuple[Earlier, ...] = ()
    """Templates before this one, while some of their pods may still be there."""
    back: Earlier | None = None
    """It is back at this one, and pods of it may never have been replaced."""
    seen: int = 0
    """The version at which it was first seen without a record."""
    last: Record | None = None
    """Its last record, where that is not the one on the object: another writer removed or spoilt
    it, or put an older one in its place."""
    blind_after: int | None = None
    """Of a `last` that went unwatched: after this version a later record may have been written."""
    reverted: bool = False
    """The write that put an older record back changed its template too, as an undo does."""


class _Condition(msgspec.Struct, gc=False):
    type: str
    status: str = ""


class _Status(msgspec.Struct, gc=False):
    conditions: list[_Condition] | None = None


_REMEMBERED = 5


def belongs_to_workload(metadata: Metadata, tables: Tables = TABLES) -> bool:
    """Whether another workload makes and unmakes it, as a CronJob does with its Jobs.

    What is marked as a canary is never a workload itself, though somebody took its owner away.
    """
    return owner_of(metadata, tables) is not None or CANARY in (metadata.labels or {})


def owner_of(metadata: Metadata, tables: Tables = TABLES) -> Key | None:
    """The workload that it belongs to."""
    for owner in given(metadata.owner_references):
        if owner.controller and (kind := tables.owners.get(owner.group_and_kind)):
            return Key(kind, metadata.namespace, owner.name)
    return None


def workload(
    kind: Kind,
    manifest: Manifest,
    before: Workload | None,
    *,
    words: Vocabulary,
    watched: bool = True,
) -> Workload:
    """The workload in `manifest`; `before` is how it was last seen, for what only history tells.

    `words` are what can matter in it. `watched`: it is the very next version after `before`, not
    one out of a list or a fetch.
    """
    if before is not None and before.uid != manifest.metadata.uid:
        before = None
    head = _head(kind, manifest, before, words, watched=watched)
    generation = manifest.metadata.generation
    if before is not None and has_spec_of(before, manifest):
        return _continued(before, before, kind, manifest, head)
    spec = spec_of(kind, manifest, words, head.last or head.record)
    if before is not None and spec.still:
        # No template takes effect during a pause: the one before it is still that of the pods.
        spec = msgspec.structs.replace(spec, template_hash=before.template_hash)
    now = Workload(
        key=Key(kind.name, manifest.metadata.namespace, manifest.metadata.name),
        uid=manifest.metadata.uid,
        generation=generation,
        template=Moment(by=head.version),
        observed=_observed(kind, manifest, spec.pins_text, head.last or head.record),
        **msgspec.structs.asdict(head),
        **msgspec.structs.asdict(spec),
    )
    if before is None:
        return now
    if now.template_hash != before.template_hash:
        return _with_new_template(now, before, watched=watched)
    same = msgspec.structs.replace(now, template=before.template, remarked=before.remarked)
    return _continued(same, before, kind, manifest, head)


def has_spec_of(before: Workload | None, manifest: Manifest) -> bool:
    """Whether only metadata or status changed: what the spec says is known."""
    metadata = manifest.metadata
    return before is not None and (
        before.uid == metadata.uid and before.generation == metadata.generation > 0
    )


class _Head(msgspec.Struct, frozen=True, gc=False):
    """What of a `Workload` stands in its metadata and status."""

    version: int
    annotations: dict[str, str]
    has_annotations: bool
    record: Record | Unreadable | None
    record_text: str | None
    ended: bool
    idle: bool
    seen: int
    last: Record | None
    blind_after: int | None


def _head(
    kind: Kind, manifest: Manifest, before: Workload | None, words: Vocabulary, *, watched: bool
) -> _Head:
    metadata = manifest.metadata
    annotations = words.relevant(metadata.annotations or {})
    text = annotations.get(STATE)
    record = read(text)
    unrecorded = before is not None and not isinstance(before.record, Record)
    last = latest(before) if before else None
    if last is None or (isinstance(record, Record) and record.n >= last.n):
        last = None
    blind_after = None
    if last is not None and before is not None:
        is_new = before.last is None and not watched
        blind_after = before.version if is_new else before.blind_after
    return _Head(
        version=metadata.version,
        annotations=annotations,
        has_annotations=metadata.annotations is not None,
        record=record,
        record_text=text,
        ended=metadata.deletion_timestamp is not None or (kind.fixed and has_ended(manifest)),
        idle=is_idle(kind, manifest),
        seen=before.seen if before and unrecorded else metadata.version,
        last=last,
        blind_after=blind_after,
    )


def latest(workload: Workload) -> Record | None:
    """Its last record as far as is known, on the object or not."""
    if workload.last is not None:
        return workload.last
    return workload.record if isinstance(workload.record, Record) else None


def recalled(workload: Workload, record: Record, version: int) -> Workload:
    """With a record that was on it at this version, if none that is known is later."""
    known = latest(workload)
    if known is not None and known.n >= record.n:
        return workload
    return msgspec.structs.replace(workload, last=record, blind_after=version, reverted=False)


def _continued(
    workload: Workload, before: Workload, kind: Kind, manifest: Manifest, head: _Head
) -> Workload:
    """A workload with the template that it had before."""
    same_text = head.record_text == before.record_text
    settled = not same_text and head.last is None and isinstance(head.record, Record)
    return msgspec.structs.replace(
        workload,
        observed=_observed(kind, manifest, workload.pins_text, head.last or head.record),
        earlier=_earlier(before, manifest),
        back=None if settled else before.back,
        reverted=before.reverted and same_text and head.last is not None,
        **msgspec.structs.asdict(head),
    )


def _observed(
    kind: Kind, manifest: Manifest, pins: str | None, record: Record | Unreadable | None
) -> bool:
    """Whether its controller has seen its template, where it matters: it had pins, or has some."""
    if kind.revisions is Revisions.NONE or not kind.observes:
        return True
    had_pins = isinstance(record, Record) and record.pins is not None
    if pins is None and not had_pins:
        return True
    return is_observed(manifest.status, manifest.metadata.generation)


def _earlier(before: Workload, manifest: Manifest) -> tuple[Earlier, ...]:
    """The templates before this one, until its rollout is complete."""
    if before.earlier and is_complete(manifest.status, manifest.metadata.generation):
        return ()
    return before.earlier


def _with_new_template(now: Workload, before: Workload, *, watched: bool) -> Workload:
    earlier = {one.hash: one for one in before.earlier}
    back = earlier.pop(now.template_hash, None)
    ours = now.record_text != before.record_text and isinstance(now.record, Record)
    had, is_gone = latest(before), now.last is not None and not isinstance(now.record, Record)
    if back is not None and back.ours and not is_gone:
        back = None  # A stamp that somebody removes is no way back: the record decides.
    if had is not None and now.replaces_pods:
        left = before.back or Earlier(b"", before.template, had.s)
        earlier[before.template_hash] = msgspec.structs.replace(
            left, hash=before.template_hash, ours=ours
        )
    after = now.version - 1 if watched else before.version
    return msgspec.structs.replace(
        now,
        template=Moment(after, now.version),
        remarked=not ours and now.marks != before.marks,
        earlier=tuple(earlier.values())[-_REMEMBERED:],
        back=back,
        reverted=now.last is not None and isinstance(now.record, Record),
    )


def has_ended(manifest: Manifest) -> bool:
    """A Job that is complete or has failed. Other workloads have no such condition."""
    return _has_condition(manifest, "Complete") or _has_condition(manifest, "Failed")


def is_idle(kind: Kind, manifest: Manifest) -> bool:
    """A Job whose controller has seen that it is suspended, and has ended its pods."""
    return kind.fixed and _has_condition(manifest, "Suspended")


def _has_condition(manifest: Manifest, name: str) -> bool:
    if f'"{name}"'.encode() not in bytes(manifest.status):
        return False
    status = value_in(manifest.status, _Status) or _Status()
    return any(c.type == name and c.status == "True" for c in given(status.conditions))
