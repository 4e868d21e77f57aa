"""Revisions of sources: what a copy is called, how it is marked, and what a pin stands for.

Pure. A copy is an immutable ConfigMap or Secret that holds one content of a source. Its name is
made of that content, so the same content has the same copy, whoever made it and for whom.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Protocol

import msgspec

from reroll.core.model.content import Content
from reroll.core.model.digest import content_digest
from reroll.core.model.key import Key
from reroll.core.policy.references import Use
from reroll.core.revisions.content_names import COPY_OF, LONGEST_NAME, marks
from reroll.core.revisions.pins import PINS, Pins, Rewrite, read_pins, rewrites
from reroll.core.tables.annotations import RECORDS


class Labelled(Protocol):
    @property
    def labels(self) -> Mapping[str, str] | None: ...


MANAGED_BY = "app.kubernetes.io/managed-by"
TOKEN = "kubernetes.io/service-account-token"  # noqa: S105  a type of Secrets
"""Kubernetes itself writes these, and deletes those that it did not make."""
SUFFIX = 10


def copy_name(source: Key, content: Content, key_id: str) -> str | None:
    """The name of the copy of this content; `None` if it was never digested with that HMAC key."""
    found = content_digest(source, content, key_id)
    if found is None:
        return None
    # The digest is of the whole name, so one that is cut short is as unique as any other.
    head = source.name[: LONGEST_NAME - SUFFIX - 1].rstrip("-.")
    return f"{head}-{found[:SUFFIX]}"


def copy_names(source: Key, content: Content) -> frozenset[str]:
    """What the copy of this content may be called: one name for each HMAC key that is known."""
    return frozenset(
        name for key_id in content.digests if (name := copy_name(source, content, key_id))
    )


def copy_marks(plain: str) -> tuple[dict[str, str], dict[str, str]]:
    """The labels and annotations of a copy. Nothing of the source's own: other tools read those."""
    labels, annotations = marks(plain, COPY_OF)
    return {**labels, MANAGED_BY: "reroll"}, annotations


def is_copy(metadata: Labelled) -> bool:
    return COPY_OF in (metadata.labels or {})


def is_our_own(metadata: Labelled) -> bool:
    """Whether it is a copy or a backup of records, which no glob of a workload means."""
    labels = metadata.labels or {}
    return COPY_OF in labels or RECORDS in labels


def is_copy_of(metadata: Labelled, plain: str) -> bool:
    """Whether its label says that it is a copy of the source with this name."""
    labels, _ = copy_marks(plain)
    return (metadata.labels or {}).get(COPY_OF) == labels[COPY_OF]


class MappedBack(NamedTuple):
    """What a template uses, as if it named no copies."""

    uses: tuple[Use, ...] = ()
    named: bool = False
    """It names copies."""
    plain: bool = False
    """It names sources themselves that it has pins for."""


def mapped_back(found: Iterable[Use], pins: Pins, recorded: Pins | None = None) -> MappedBack:
    """Uses of the sources whose copies a template with these pins names.

    `recorded`: the pins that it once had; somebody may have taken only the annotation away.
    """
    uses = tuple(found)
    if not pins and not recorded:
        return MappedBack(uses)
    known = (*(recorded or {}).items(), *pins.items())
    plain = {(kind, copy): name for (kind, name), copy in known}
    used = {(use.kind, use.name) for use in uses}
    back = tuple(
        msgspec.structs.replace(use, name=plain.get((use.kind, use.name), use.name)) for use in uses
    )
    return MappedBack(back, not used.isdisjoint(plain), not used.isdisjoint(pins))


def write_pins_into(template: dict[str, Any], pins: str, old: Pins, *, named: bool) -> None:
    """Pin a pod template that is a document, by names too if they are to be `named`."""
    metadata = template.setdefault("metadata", {})
    annotations = {**(metadata.get("annotations") or {}), PINS: pins}
    metadata["annotations"] = {name: text for name, text in annotations.items() if text}
    names = renames(old, read_pins(pins) if named else {})
    for one in list(rewrites(template["spec"], names)):
        here: Any = template["spec"]
        for step in one.steps[:-1]:
            here = here[step]
        here[one.steps[-1]] = one.copy


def renamed(
    spec: Mapping[str, Any], old: Pins, new: Pins, recorded: Pins | None = None
) -> tuple[Rewrite, ...]:
    """The fields of a pod spec that have to name something else than they do, see `renames`."""
    found = rewrites(spec, {**renames(recorded or {}, new), **renames(old, new)})
    return tuple(one for one in found if one.plain != one.copy)


def renames(old: Pins, new: Pins) -> Mapping[tuple[str, str], str]:
    """What to call sources in a template that has the pins `old` and shall name the copies `new`.

    Whatever it names now, plain names or copies. With an empty `new` all become plain again.
    """
    back = {(kind, copy): new.get((kind, name), name) for (kind, name), copy in old.items()}
    return {**back, **new}
