"""The revisions of one workload: the content that each is pinned to, and the pods that run it.

Pure. Contents are compared by fingerprints of single keys, so all that can be told is which keys
differ, never what they hold.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec

from reroll.core.model.record import Record
from reroll.core.observe.workload import Workload
from reroll.core.revisions.pins import Pins
from reroll.core.revisions.templates import of_template
from reroll.core.tables.annotations import STAMP
from reroll.core.tables.kinds import first_number
from reroll.kube.objects import Revision

SourceName = tuple[str, str]
"""Kind and name."""
Fingerprints = Mapping[str, bytes]
"""Of what each key holds."""


class RevisionTemplate(NamedTuple):
    """An earlier template of a workload, or the one it has now."""

    name: str
    number: int
    created: datetime | None
    pins: Pins
    stamp: str | None = None
    """What our own mark says in it."""
    first: int = 0
    """The number that it had first, where it was gone back to since and that is known."""


class PinnedSource(NamedTuple):
    source: SourceName
    copy: str
    keys: tuple[str, ...] | None
    """Those that differ from the pinned revision made before; `None`: that is not known."""
    missing: bool = False


class RevisionLine(NamedTuple):
    revision: RevisionTemplate
    pins: tuple[PinnedSource, ...]
    pods: tuple[str, ...]
    is_current: bool


def revision_template(revision: Revision) -> RevisionTemplate:
    template: Any = None
    if revision.data:
        template = (msgspec.json.decode(revision.data).get("spec") or {}).get("template")
    elif revision.spec:
        template = msgspec.json.decode(revision.spec).get("template")
    template = template if isinstance(template, dict) else {}
    pinned = of_template(template)
    annotations = (template.get("metadata") or {}).get("annotations") or {}
    metadata = revision.metadata
    return RevisionTemplate(
        metadata.name,
        revision.number,
        metadata.creation_timestamp,
        pinned.pins if pinned else {},
        annotations.get(STAMP),
        first_number(metadata.annotations, revision.revision),
    )


def revision_lines(
    revisions: Sequence[RevisionTemplate],
    pods: Iterable[tuple[str, str]],
    contents: Mapping[SourceName, Fingerprints | None],
    runner: str,
) -> list[RevisionLine]:
    """One for each revision, the newest first.

    `revisions` come the oldest first. `pods` are name and revision, as a label tells it. `contents`
    are those of copies by kind and name, `None` where one is gone; what may not be read is not
    among them. `runner` is the workload that makes the pods.
    """
    found, before = [], _pins_before(revisions)
    running = [(name, {label, f"{runner}-{label}"}) for name, label in pods if label]
    for one in revisions:
        had = before[one.name]
        pins = tuple(
            PinnedSource(source, copy, _changed(source[0], had.get(source), copy, contents),
                contents.get((source[0], copy), {}) is None)
            for source, copy in sorted(one.pins.items())
        )  # fmt: skip
        own = tuple(sorted(name for name, labels in running if one.name in labels))
        found.append(RevisionLine(one, pins, own, is_current=one is revisions[-1]))
    return found[::-1]


def _pins_before(revisions: Iterable[RevisionTemplate]) -> dict[str, Pins]:
    """By name, the pins of the revision that was there when each was made.

    Whoever goes back to a revision gives it the highest number, and makes none: what it changed
    when it came stays what it changed.
    """
    found: dict[str, Pins] = {}
    pins: Pins = {}
    for one in sorted(revisions, key=_made):
        found[one.name] = pins
        pins = one.pins or pins
    return found


def _made(one: RevisionTemplate) -> tuple[datetime, int]:
    """By when it was made; Kubernetes tells whole seconds."""
    return one.created or _UNDATED, one.first or one.number


_UNDATED = datetime.min.replace(tzinfo=UTC)


def _changed(
    kind: str, before: str | None, now: str, contents: Mapping[SourceName, Fingerprints | None]
) -> tuple[str, ...] | None:
    if before == now:
        return ()
    old, new = contents.get((kind, before or "")), contents.get((kind, now))
    if old is None or new is None:
        return None
    return tuple(sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key)))


def select_revision(
    revisions: Sequence[RevisionTemplate], text: str, left: Pins
) -> RevisionTemplate | None:
    """The revision that is meant by its number, its name, or `previous`.

    `left` are the pins of what the workload was taken back from, while it is held: nobody who goes
    back further means that one, though Kubernetes counts it as the one before.
    """
    if text != "previous":
        return next((one for one in revisions if text in {one.name, str(one.number)}), None)
    earlier = (one for one in reversed(revisions[:-1]) if not left or left != one.pins)
    return next(earlier, None)


def pins_for(template: Pins, revision: RevisionTemplate) -> dict[SourceName, str]:
    """The pins of a template that shall use the content of a revision.

    What the revision did not have yet keeps its pin; what the template uses no more gets none.
    """
    return {source: revision.pins.get(source, copy) for source, copy in template.items()}


def document(
    workload: Workload, lines: Iterable[RevisionLine], gaps: Sequence[str]
) -> dict[str, Any]:
    """For programs."""
    record = workload.record
    return {
        "workload": workload.key,
        "heldSince": record.held if isinstance(record, Record) else None,
        "namesInTemplate": workload.named,
        "revisions": [facts_of(line) for line in lines],
        "problems": gaps,
    }


def facts_of(one: RevisionLine) -> dict[str, Any]:
    return {
        "revision": one.revision.number,
        "name": one.revision.name,
        "created": one.revision.created,
        "current": one.is_current,
        "pins": [
            {
                "source": source_name(pin.source),
                "copy": pin.copy,
                "changedKeys": pin.keys,
                "missing": pin.missing,
            }
            for pin in one.pins
        ],
        "pods": one.pods,
    }


def source_name(source: SourceName) -> str:
    kind, name = source
    return f"{kind.lower()}/{name}"
