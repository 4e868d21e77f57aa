"""What a render did, and what it may have missed, in a few lines for people."""

from collections.abc import Iterator, Mapping

from reroll.core.model.key import Key
from reroll.core.tables.annotations import ENABLED
from reroll.manifests.content_names import name_fields
from reroll.manifests.model import Edit, ManifestObject, Manifests, shown
from reroll.manifests.options import NAMES, Options
from reroll.manifests.text.nodes import Node, Path, ScalarNode, SequenceNode, resolve

_SCHEMA = "CustomResourceDefinition"


def summary(
    manifests: Manifests, new: Mapping[Key, str], renames: list[Edit], stamps: list[Edit]
) -> Iterator[str]:
    """A line for each workload with a checksum and each source with a new name, then the count."""
    for edit in stamps:
        entries = ", ".join(f"{name} {value}" for name, value in edit.put.entries.items())
        yield f"{shown(edit.object.key)}: {entries}"
    for key, name in new.items():
        yield f"{shown(key)}: now {name}"
    followed = sum(edit.object.key not in new for edit in renames)
    yield (
        f"workloads: {len(manifests.workloads)}, with a checksum: {len(stamps)}; "
        f"sources: {len(manifests.sources)}, with a new name: {len(new)}; "
        f"references that follow: {followed}"
    )


def frozen(manifests: Manifests) -> Iterator[str]:
    """Jobs that use sources of the stream and get no checksum."""
    for workload in manifests.workloads:
        if not workload.is_frozen or workload.policy.enabled is False:
            continue
        home = workload.key.namespace
        sources = {manifests.meant(Key(use.kind, home, use.name)) for use in workload.uses}
        if sources & manifests.sources.keys():
            yield (
                f"{manifests.where(workload.object)}: {shown(workload.key)} gets no checksum: "
                "its template cannot be changed once it is in the cluster; give it `generateName`, "
                f'make it a hook, or ask for it with {ENABLED}: "true"'
            )


def unfollowed(manifests: Manifests, new: Mapping[Key, str], options: Options) -> Iterator[str]:
    """Fields of unknown kinds that look as if they named a renamed source."""
    for each in manifests.objects if new else ():
        if each.key.kind != _SCHEMA and not name_fields(each, options):
            yield from _mentions(manifests, each, new)


def _mentions(
    manifests: Manifests, holder: ManifestObject, new: Mapping[Key, str]
) -> Iterator[str]:
    for path, node in _scalars(holder.node, ()):
        words = "".join(str(step).lower() for step in path[-2:])
        for kind in ("ConfigMap", "Secret"):
            key = Key(kind, holder.key.namespace, node.text)
            if kind.lower() in words and key in new:
                yield (
                    f"{manifests.position(holder.input, node.start)}: {shown(holder.key)} seems to "
                    f"name {shown(key)}, which is now {new[key]}; describe the kind in --config, "
                    f'or keep the name with {NAMES}: "false"'
                )


def _scalars(node: Node, path: Path) -> Iterator[tuple[Path, ScalarNode]]:
    """Every scalar that is a value, and the keys on the way to it."""
    here = resolve(node)
    if isinstance(here, ScalarNode):
        yield path, here
    elif isinstance(here, SequenceNode):
        for item in here.children:
            yield from _scalars(item, path)
    else:
        for key, value in here.pairs():
            yield from _scalars(value, (*path, key.text or ""))
