"""Who uses what, as nodes and edges.

Pure. An edge is a use, whether or not its workload is opted in; `rolls` tells that a change of the
source would roll the workload. An Injection is drawn as a user too: a change of its sources is
written to its target.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from reroll.core.model.injection import Injection
from reroll.core.model.key import Key
from reroll.core.model.metadata import Metadata
from reroll.core.policy.patterns import Pattern
from reroll.core.policy.policy import Policy
from reroll.core.policy.references import Use
from reroll.core.policy.select import claimed
from reroll.core.revisions.copies import is_copy


class Edge(NamedTuple):
    source: Key
    workload: Key
    hows: tuple[str, ...]
    rolls: bool
    optional: bool


class Graph(NamedTuple):
    edges: tuple[Edge, ...]
    workloads: tuple[Key, ...]
    missing: frozenset[Key]
    """Sources that workloads use and that do not exist."""
    orphans: frozenset[Key] = frozenset()
    """Sources that nobody uses."""

    @property
    def sources(self) -> tuple[Key, ...]:
        return tuple(sorted({edge.source for edge in self.edges} | self.orphans))

    def note(self, source: Key) -> str:
        """What is to be said behind its name."""
        if source in self.missing:
            return " (missing)"
        return " (nobody uses it)" if source in self.orphans else ""

    def users(self) -> dict[Key, list[Edge]]:
        """The uses of each source, also of those that have none."""
        found: dict[Key, list[Edge]] = {source: [] for source in self.sources}
        for edge in self.edges:
            found[edge.source].append(edge)
        return found

    def unused(self, there: Mapping[Key, Metadata]) -> frozenset[Key]:
        """The sources that no workload and no Injection uses; copies are for their revisions."""
        used = {edge.source for edge in self.edges}
        return frozenset(
            key for key, metadata in there.items() if key not in used and not is_copy(metadata)
        )

    def around(self, node: Key) -> "Graph":
        """Only what has to do with one source or one workload."""
        edges = tuple(edge for edge in self.edges if node in {edge.source, edge.workload})
        workloads = {edge.workload for edge in edges} | ({node} & set(self.workloads))
        return Graph(
            edges,
            tuple(sorted(workloads)),
            self.missing & {edge.source for edge in edges},
            self.orphans & {node},
        )


class Member(NamedTuple):
    """A workload as the graph sees it."""

    key: Key
    uses: tuple[Use, ...]
    policy: Policy


def graph(
    members: Iterable[Member],
    there: frozenset[Key],
    blind: frozenset[str] = frozenset(),
    injections: Iterable[Injection] = (),
) -> Graph:
    """`there` are all sources that exist; of the kinds in `blind` that is not known."""
    edges, workloads = list[Edge](), list[Key]()
    for member in members:
        workloads.append(member.key)
        edges += _edges(member, there)
    for one in injections:
        workloads.append(one.key)
        edges += _fed(one)
    named = {edge.source for edge in edges}
    missing = frozenset(key for key in named - there if key.kind not in blind | _UNSEEN)
    return Graph(tuple(sorted(edges)), tuple(workloads), missing)


_UNSEEN = frozenset(("SecretProviderClass",))
"""Kinds that are not listed."""


def _edges(member: Member, there: frozenset[Key]) -> Iterator[Edge]:
    home = member.key.namespace
    uses: dict[Key, list[Use]] = {}
    for use in member.uses:
        uses.setdefault(Key(use.kind, home, use.name), []).append(use)

    def matching(pattern: Pattern) -> list[Key]:
        if pattern.is_glob:
            return [key for key in there if pattern.matches(key, home)]
        return [Key(pattern.kind, pattern.namespace or home, pattern.name)]

    counted = {ref.source for ref in claimed(home, member.uses, member.policy, matching)}
    for source in sorted(uses.keys() | counted):
        found = uses.get(source, [])
        hows = tuple(dict.fromkeys(use.how for use in found)) or ("annotation",)
        rolls = bool(member.policy.enabled) and source in counted
        optional = bool(found) and all(use.optional for use in found)
        yield Edge(source, member.key, hows, rolls, optional)


def _fed(one: Injection) -> Iterator[Edge]:
    """What an Injection reads, and where that goes."""
    to, home = one.spec.to, one.key.namespace
    for source in sorted(one.sources):
        keys = sorted(each.key for each in one.spec.from_ if each.source(home) == source)
        how = f"key {', '.join(keys)} into {to.kind} {to.name}, {to.path}"
        yield Edge(source, one.key, (how,), rolls=not one.spec.dry_run, optional=False)


# What nobody uses

_MADE_BY_MACHINES = frozenset(("kube-root-ca.crt",))


def orphans(stubs: Mapping[Key, Metadata], used: Collection[tuple[str, str]]) -> frozenset[Key]:
    """The sources that nothing names; `used` are namespaces and names.

    Helm's releases and what Kubernetes puts into every namespace are for nobody to use; copies
    are for the revisions that own them.
    """
    return frozenset(
        key
        for key, metadata in stubs.items()
        if (key.namespace, key.name) not in used
        and key.name not in _MADE_BY_MACHINES
        and (metadata.labels or {}).get("owner") != "helm"
        and not is_copy(metadata)
    )


def named(document: Any) -> Iterator[str]:
    """The names of ConfigMaps and Secrets in any object: what stands where one is named.

    Wherever a field, or an annotation, is called after them, as all of Kubernetes does it.
    """
    if isinstance(document, list):
        for each in document:
            yield from named(each)
    elif isinstance(document, Mapping):
        for field, value in document.items():
            if _is_about_configs(field):
                yield from _names(value)
            yield from named(value)


def _is_about_configs(field: str) -> bool:
    return "secret" in field.lower() or "configmap" in field.lower()


def _names(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value.rpartition("/")[2]
    elif isinstance(value, list):
        for each in value:
            yield from _names(each)
    elif isinstance(value, Mapping):
        yield from (str(value[field]) for field in ("name", "secretName") if field in value)
