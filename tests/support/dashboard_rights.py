"""What the account of a dashboard in a cluster may do itself, by how people come in.

With tokens and behind a proxy, pages are made with the rights of whoever looks: the dashboard reads
by itself the names of namespaces, and what the controller keeps to compare Secrets with; behind a
proxy it may act as others. Where nobody is known, it reads what pages show, and no Secret.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from reroll.core.tables.kinds import KINDS, Kind
from reroll.core.tables.rights import Feature, Place, Rule, rights, rules_of
from reroll.core.tables.source_kinds import SOURCE_KINDS, SourceKind

TOKEN, PROXY, NONE = "token", "proxy", "none"
KNOWN = (TOKEN, PROXY)
"""Those with which it is known who looks."""
_READS = ("get", "list")


class OwnRight(NamedTuple):
    auths: tuple[str, ...]
    place: Place
    group: str
    resource: str
    verbs: tuple[str, ...]
    name: str = ""
    """Of the one object that it is for: what stands in `{}` is a setting."""
    kind: str = ""
    """Only where this kind of workload or source is handled."""


_ALL = (*KNOWN, NONE)
OWN: tuple[OwnRight, ...] = (
    OwnRight(KNOWN, Place.CLUSTER, "", "namespaces", ("list",)),
    OwnRight((NONE,), Place.CLUSTER, "", "namespaces", _READS),
    OwnRight((PROXY,), Place.CLUSTER, "", "users", ("impersonate",)),
    OwnRight((PROXY,), Place.CLUSTER, "", "groups", ("impersonate",)),
    OwnRight(KNOWN, Place.OWN, "", "secrets", ("get",), "{digest_key}"),
    OwnRight(_ALL, Place.OWN, "", "configmaps", ("get",), "{lease}-hold"),
    OwnRight(_ALL, Place.OWN, "", "configmaps", ("list",)),
    OwnRight((NONE,), Place.OWN, "coordination.k8s.io", "leases", ("get",), "{lease}"),
    OwnRight((NONE,), Place.WATCHED, "", "pods", ("list",)),
    OwnRight((NONE,), Place.WATCHED, "", "events", ("list",)),
)
"""Those that no row of the kinds tables tells."""


def own_rights(
    kinds: Iterable[Kind] = KINDS, sources: Iterable[SourceKind] = SOURCE_KINDS
) -> tuple[OwnRight, ...]:
    return (*OWN, *_read(kinds, [one for one in sources if one.name != "Secret"]))


def _read(kinds: Iterable[Kind], sources: Iterable[SourceKind]) -> Iterator[OwnRight]:
    """What the controller reads of workloads and sources, less what it writes."""
    for row in rights(kinds, sources):
        verbs = tuple(verb for verb in row.verbs if verb in _READS)
        if row.feature is Feature.ROLLING and row.place is Place.WATCHED and row.kind and verbs:
            what = row.group, row.resource, verbs
            yield OwnRight((NONE,), Place.WATCHED, *what, kind=row.kind)


def rules(auth: str, digest_key: str, lease: str) -> tuple[list[Rule], list[Rule]]:
    """For a ClusterRole, and for a Role in the controller's own namespace."""
    mine = [row for row in own_rights() if auth in row.auths]
    names = {"digest_key": digest_key, "lease": lease}
    parts = [(row.place, (row.group, row.resource, row.name, row.verbs)) for row in mine]
    return (
        rules_of(what for place, what in parts if place is not Place.OWN),
        rules_of(
            (group, resource, name.format(**names), verbs)
            for place, (group, resource, name, verbs) in parts
            if place is Place.OWN
        ),
    )
