"""What a render did, in a few lines for people."""

from collections.abc import Iterable, Iterator

from reroll.features.render.manifests import Change, Manifests, shown


def summary(manifests: Manifests, changes: Iterable[Change]) -> Iterator[str]:
    """A line for each workload with a checksum and each source with a new name, then the count."""
    workloads = {id(each.object.place): each for each in manifests.workloads}
    sources = {id(each.object.place): each for each in manifests.sources.values()}
    sums = named = followed = 0
    for change in changes:
        name = change.put.entries.get("name")
        is_own = change.put.path == (*change.place.path, "metadata")
        if change.put.path[-2:] == ("metadata", "annotations") and id(change.place) in workloads:
            sums += 1
            told = ", ".join(f"{key} {value}" for key, value in change.put.entries.items())
            yield f"{shown(workloads[id(change.place)].key)}: {told}"
        elif id(change.place) not in sources:
            followed += 1
        elif is_own and name:
            named += 1
            yield f"{shown(sources[id(change.place)].key)}: now {name}"
    yield (
        f"{len(manifests.workloads)} workloads, {sums} with a checksum; "
        f"{len(manifests.sources)} sources, {named} with a new name; {followed} references follow"
    )
