"""What a render did, and what it may have missed, in a few lines for people."""

from collections.abc import Iterable, Iterator, Mapping

from reroll.core.model.key import Key
from reroll.core.tables.fields import fields
from reroll.manifests.names import Naming
from reroll.manifests.read import Change, Manifests, Object, shown
from reroll.manifests.text import nodes

_SCHEMA = "CustomResourceDefinition"


def renamed(manifests: Manifests, changes: Iterable[Change]) -> dict[Key, str]:
    """The new name of each source that got one."""
    sources = {id(each.object.place): each.key for each in manifests.sources.values()}
    return {
        sources[id(change.place)]: str(change.put.entries["name"])
        for change in changes
        if id(change.place) in sources
        and change.put.path == (*change.place.path, "metadata")
        and "name" in change.put.entries
    }


def summary(manifests: Manifests, changes: Iterable[Change]) -> Iterator[str]:
    """A line for each workload with a checksum and each source with a new name, then the count."""
    made = list(changes)
    new = renamed(manifests, made)
    workloads = {id(each.object.place): each.key for each in manifests.workloads}
    sums = 0
    for change in made:
        is_sum = change.put.path[-2:] == ("metadata", "annotations")
        if is_sum and id(change.place) in workloads:
            sums += 1
            told = ", ".join(f"{key} {value}" for key, value in change.put.entries.items())
            yield f"{shown(workloads[id(change.place)])}: {told}"
    for key, name in new.items():
        yield f"{shown(key)}: now {name}"
    sources = {id(each.object.place) for each in manifests.sources.values()}
    followed = sum(id(change.place) not in sources for change in made) - sums
    yield (
        f"workloads: {len(manifests.workloads)}, with a checksum: {sums}; "
        f"sources: {len(manifests.sources)}, with a new name: {len(new)}; "
        f"references that follow: {followed}"
    )


def unfollowed(manifests: Manifests, changes: Iterable[Change], naming: Naming) -> Iterator[str]:
    """Fields of kinds that nobody described and that look as if they named a renamed source."""
    new = renamed(manifests, changes)
    for made in manifests.objects if new else ():
        kind = (made.group, made.key.kind)
        if made.key.kind != _SCHEMA and not (naming.more.get(kind) or fields(*kind, naming.kinds)):
            yield from _mentions(manifests, made, new)


def _mentions(manifests: Manifests, made: Object, new: Mapping[Key, str]) -> Iterator[str]:
    for path, node in _texts(made.place.node, ()):
        words = "".join(str(step).lower() for step in path[-2:])
        for kind in ("ConfigMap", "Secret"):
            key = Key(kind, made.key.namespace, node.text)
            if kind.lower() in words and key in new:
                where = manifests.where(made.place.input, node.start)
                yield (
                    f"{where}: {shown(made.key)} seems to name {shown(key)}, which is now "
                    f"{new[key]}; describe the kind in --config, or keep the name with "
                    f'reroll.dev/names: "false"'
                )


def _texts(node: nodes.Node, path: nodes.Path) -> Iterator[tuple[nodes.Path, nodes.Scalar]]:
    """Every scalar that is a value, and the names on the way to it."""
    here = nodes.aimed(node)
    if isinstance(here, nodes.Scalar):
        yield path, here
    elif isinstance(here, nodes.Sequence):
        for item in here.children:
            yield from _texts(item, path)
    else:
        for key, value in here.pairs():
            yield from _texts(value, (*path, key.text or ""))
