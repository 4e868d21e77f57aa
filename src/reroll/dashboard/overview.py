"""What all pages share: one listing of the cluster, taken apart so that pages only pick from it."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from reroll.answers.graph.graph import Graph, Member, graph
from reroll.answers.history.history import Subject
from reroll.answers.propagation.status import status
from reroll.answers.unapproved import gathered
from reroll.answers.windows.documents import place_facts, place_standings
from reroll.core.model.key import Key
from reroll.core.model.windows import WindowRow
from reroll.core.observe.approval import Waiting
from reroll.core.observe.compare import compare
from reroll.core.observe.snapshot import Absence
from reroll.core.observe.workload import workload
from reroll.core.tables.kinds import Kind
from reroll.engine.circumstances import Judged
from reroll.engine.listing import Listed, Listing, record_of
from reroll.kube.view import View

Facts = Mapping[str, Any]
"""A piece of a document, as a command prints it with `-o json`."""


class Node(NamedTuple):
    """A workload or a source, as it is searched for."""

    text: str
    """Kind, namespace and name, in small letters."""
    is_source: bool
    key: Key


class Waits(NamedTuple):
    """A content of a source that waits for an approval, or was rejected."""

    what: Waiting
    workloads: tuple[Key, ...]
    """Who waits for it."""

    def state(self, now: datetime) -> str:
        """`waits`, `overdue` or `rejected`."""
        if self.what.rejected:
            return "rejected"
        return "overdue" if self.what.is_overdue(now) else "waits"


class Overview(NamedTuple):
    at: datetime
    document: Facts
    """What `reroll status -o json` tells."""
    graph: Graph
    """Who uses what, as far as workloads and their records name it."""
    behind: Mapping[Key, frozenset[Key]]
    """By source, the workloads that have not rolled with what it holds now."""
    notes: tuple[str, ...]
    kinds: Mapping[str, Kind]
    facts: Mapping[Key, Facts]
    """What the document says of each workload that is opted in."""
    digest: bytes
    """Changes when a page would."""
    nodes: tuple[Node, ...]
    """All workloads and sources, by name."""
    windows: tuple[WindowRow, ...] = ()
    """Of the config file."""
    places: tuple[Facts, ...] = ()
    """The workloads and sources that have windows, as `reroll windows -o json` tells."""
    waiting: Mapping[Key, Waits] = {}
    """By source, what waits for an approval."""
    subjects: tuple[Subject, ...] = ()
    """The workloads, as their past is asked for."""
    is_partial: bool = False
    """Nothing of what workloads use is read yet, see `first_sight`."""

    @property
    def namespaces(self) -> list[str]:
        return sorted({key.namespace for key in self.graph.workloads})


async def overview(
    view: View, listing: Listing, now: Callable[[], datetime], windows: tuple[WindowRow, ...]
) -> Overview:
    """From a listing that was filled; nothing of the listing is kept."""
    known = await status(view, listing, now())
    document = known.document(view.gaps)
    drawn, behind = _graph(listing, known.known), _behind(known.known)
    facts = {key_of(one): one for one in document["workloads"]}
    parts = (document, sorted(drawn.workloads), sorted(listing.notes))
    digest = hashlib.blake2b(msgspec.json.encode(parts), digest_size=16).digest()
    notes = tuple(dict.fromkeys(listing.notes))
    kinds = dict(listing.kinds)
    return Overview(
        now(),
        document,
        drawn,
        behind,
        notes,
        kinds,
        facts,
        digest,
        nodes_of(drawn),
        windows,
        _places(known.known, now()),
        _waiting(known.known),
        tuple(_subjects(listing, known.known)),
    )


def _subjects(listing: Listing, known: Iterable[Judged]) -> Iterator[Subject]:
    for one in known:
        kind, manifest = listing.workloads[one.key].kind, listing.workloads[one.key].manifest
        own = record_of(manifest)
        now = None if one.plan.reason.out else one.situation
        yield Subject(kind, one.key, manifest.metadata.uid, own).so(now)


def _waiting(known: Iterable[Judged]) -> dict[Key, Waits]:
    found = gathered(one.decision for one in known)
    return {source: Waits(what, tuple(users)) for source, (what, users) in found.items()}


def _places(known: Iterable[Judged], now: datetime) -> tuple[Facts, ...]:
    snapshots = [one.decision.snapshot for one in known]
    mine = [one for one in snapshots if one is not None and one.policy.enabled]
    return tuple(map(place_facts, place_standings(mine, now)))


def nodes_of(drawn: Graph) -> tuple[Node, ...]:
    found = [
        Node("/".join(key).lower(), is_source, key)
        for is_source, keys in ((False, drawn.workloads), (True, drawn.sources))
        for key in keys
    ]
    return tuple(sorted(found, key=lambda one: (one.is_source, one.key.name, one.key)))


def key_of(facts: Facts) -> Key:
    return Key(facts["kind"], facts["namespace"], facts["name"])


def _graph(listing: Listing, known: Iterable[Judged]) -> Graph:
    there: set[Key] = set()
    absent: set[Key] = set()
    for one in known:
        if one.decision.snapshot is None:
            continue
        for source, content in one.decision.snapshot.sources.items():
            (absent if content is Absence.MISSING else there).add(source)
    members = [_member(listing, key, one) for key, one in listing.workloads.items()]
    everything = graph(members, frozenset(there))
    return everything._replace(missing=everything.missing & absent)


def _member(listing: Listing, key: Key, one: Listed) -> Member:
    if tracked := listing.world.workloads.get(key):
        return Member(key, tracked.workload.uses, tracked.policy)
    seen = workload(one.kind, one.manifest, None, words=listing.world.dialects.words)
    return Member(key, seen.uses, one.policy)


def _behind(known: Iterable[Judged]) -> dict[Key, frozenset[Key]]:
    found: dict[Key, set[Key]] = {}
    for one in known:
        if one.decision.snapshot is None or one.plan.reason.out:
            continue
        for change in compare(one.decision.snapshot).changes:
            found.setdefault(change.reference.source, set()).add(one.key)
    return {source: frozenset(keys) for source, keys in found.items()}
