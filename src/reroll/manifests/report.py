"""What a render did, and what it may have missed, in a few lines for people."""

from collections.abc import Iterator

from reroll.core.model.key import Key
from reroll.core.tables.annotations import ENABLED
from reroll.manifests.model import ContentNames, Edit, Manifests, shown

_OUTDATED = frozenset(("extensions", kind) for kind in ("Deployment", "DaemonSet", "ReplicaSet"))


def summary(
    manifests: Manifests, names: ContentNames, renames: list[Edit], stamps: list[Edit]
) -> Iterator[str]:
    """A line for each workload with a checksum and each source with a new name, then the count."""
    for edit in stamps:
        entries = ", ".join(f"{name} {value}" for name, value in edit.put.entries.items())
        yield f"{shown(edit.object.key)}: {entries}"
    new = names.new
    for key, name in new.items():
        yield f"{shown(key)}: now {name}"
    for key, reason in names.kept.items():
        yield f"{shown(key)}: keeps its name: {reason}"
    followed = sum(edit.object.key not in new for edit in renames)
    yield (
        f"workloads: {len(manifests.workloads)}, with a checksum: {len(stamps)}; "
        f"sources: {len(manifests.sources)}, with a new name: {len(new)}; "
        f"references that follow: {followed}"
    )


def frozen(manifests: Manifests) -> Iterator[str]:
    """Jobs that use sources of the stream and get no checksum."""
    for workload in manifests.workloads:
        if not workload.is_frozen or workload.is_opted_out:
            continue
        home = workload.key.namespace
        sources = {manifests.meant(Key(use.kind, home, use.name)) for use in workload.uses}
        if sources & manifests.sources.keys():
            yield (
                f"{manifests.where(workload.object)}: {shown(workload.key)} gets no checksum: "
                "its template cannot be changed once it is in the cluster; give it `generateName`, "
                f'make it a hook, or ask for it with {ENABLED}: "true"'
            )


def outdated(manifests: Manifests) -> Iterator[str]:
    """Workloads of a group that Kubernetes has no more, so that they are none here."""
    for each in manifests.objects:
        if (each.group, each.key.kind) in _OUTDATED:
            yield (
                f"{manifests.where(each)}: {shown(each.key)} is of {each.group}/v1beta1, which no "
                "API server of today has, and stays as it is; write apps/v1"
            )
