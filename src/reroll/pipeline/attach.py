"""Which revision of a workload has to own which content-named config.

Pure. A config belongs to every revision that names it, so that Kubernetes collects it when the last
of them is gone. A kind that keeps no revisions owns its configs itself.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from reroll.core.model.metadata import Manifest, pick
from reroll.core.model.podspec import given
from reroll.core.observe.progress import is_observed
from reroll.core.observe.workload import belongs_to_workload
from reroll.core.revisions.content_names import ATTACHING
from reroll.core.revisions.mentions import mentioned
from reroll.core.tables.kinds import Kind, Revisions
from reroll.core.write.patches import Operation, pointer
from reroll.kube.objects import REVISION_KINDS, Owner, Revision


def of_workload(uid: str, revisions: Iterable[Revision]) -> list[Revision]:
    """The revisions of one workload that are to stay, the newest last."""
    own = [
        one
        for one in revisions
        if any(owner.uid == uid for owner in given(one.metadata.owner_references))
        and one.metadata.deletion_timestamp is None
    ]
    return sorted(own, key=lambda one: one.number)


def is_ready(kind: Kind, manifest: Manifest, revisions: list[Revision]) -> bool:
    """Whether the revision of the template that the workload has now is there, or will not come."""
    if kind.revisions is Revisions.NONE:
        return True
    paused = pick(manifest, kind.still) == msgspec.Raw(b"true")
    seen = is_observed(manifest.status, manifest.metadata.generation)
    return seen and (bool(revisions) or paused)


def lacks_revision(
    kind: Kind, manifest: Manifest, revisions: list[Revision], names: frozenset[str]
) -> bool:
    """Whether its template names configs that its newest revision does not: it is paused."""
    template = pick(manifest, kind.template)
    if kind.revisions is Revisions.NONE or not template:
        return False
    newest = revisions[-1].mentions(names) if revisions else frozenset()
    return not mentioned(bytes(template), names) <= newest


def owners(
    kind: Kind, manifest: Manifest, revisions: Iterable[Revision], names: frozenset[str]
) -> list[tuple[Owner, str]]:
    """Who of a workload has to own which of the configs `names`."""
    if kind.revisions is Revisions.NONE:
        metadata = manifest.metadata
        helper = ATTACHING.items() <= (metadata.labels or {}).items()
        if helper or belongs_to_workload(metadata):
            return []
        itself = Owner(f"{kind.group}/{kind.version}", kind.name, metadata.name, metadata.uid)
        return [(itself, name) for name in sorted(mentioned(bytes(manifest.spec), names))]
    word = REVISION_KINDS[kind.revisions]
    return [
        (Owner("apps/v1", word, one.metadata.name, one.metadata.uid), name)
        for one in revisions
        for name in sorted(one.mentions(names))
    ]


def patch(
    uid: str, present: Sequence[Mapping[str, Any]] | None, missing: Iterable[Owner]
) -> list[Operation]:
    """Add owners, if the config and its owners are still those that were seen."""
    here = pointer("metadata", "ownerReferences")
    added = [owner.reference for owner in missing]
    return [
        {"op": "test", "path": pointer("metadata", "uid"), "value": uid},
        {"op": "test", "path": here, "value": present},
        {"op": "add", "path": here, "value": [*(present or ()), *added]},
    ]
