"""What would roll if sources held something else: the blast radius of a change, before it is made.

The new contents are put into the listing's world as if a watch had brought them, and the engine
decides again. What is stale already, or not adopted yet, is taken as caught up first, so that only
the change itself counts. The world is another one afterwards.
"""

import base64
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

import msgspec

from reroll.core.decide.chains import decide
from reroll.core.decide.plan import Plan
from reroll.core.model.key import Key
from reroll.core.observe.provenance import Touch, Touched
from reroll.core.observe.snapshot import History
from reroll.core.propagation.order import turns
from reroll.core.tables.source_kinds import SourceKind
from reroll.engine.content import Source
from reroll.engine.listing import Listing
from reroll.engine.observer import Decision
from reroll.manifests.model import ManifestSource
from reroll.manifests.sources import values_of


class Supposed(NamedTuple):
    """What a change would do to one workload."""

    key: Key
    plan: Plan
    keys: dict[Key, tuple[str, ...]]
    """The keys of each source that change and that it uses: names, never values."""
    turn: int = 0
    """Where the change propagates with care: the how many-th it is, if all stay healthy."""


def suppose(
    listing: Listing,
    decisions: Iterable[Decision],
    written: Iterable[ManifestSource],
    now: datetime,
) -> list[Supposed]:
    """The workloads that would be concerned by these sources, in the order of `decisions`."""
    before = list(decisions)
    known = listing.world.sources
    latest = max([listing.world.latest, *(known.version(key) for key in known)])
    for number, one in enumerate(written, start=1):
        source = _as_served(one.kind, one, latest + number, now)
        listing.world.sources.observe(one.kind, source, watched=True)
    found = (_supposed(listing, decision, now) for decision in before if decision.snapshot)
    order = _order(listing)
    made = [one._replace(turn=order.get(one.key, 0)) for one in found if one is not None]
    return sorted(made, key=lambda one: one.turn)


def _order(listing: Listing) -> dict[Key, int]:
    """The turn of each workload: that of the last of its sources."""
    found: dict[Key, int] = {}
    for group in listing.world.propagation.groups():
        for key, turn in turns(group).items():
            found[key] = max(turn, found.get(key, 0))
    return found


def _supposed(listing: Listing, decision: Decision, now: datetime) -> Supposed | None:
    if decision.snapshot is None:
        return None
    seen = listing.world.snapshot(decision.key, decision.snapshot.kind)
    if seen is None:
        return None
    caught_up = decision.plan.record or seen.record
    workload = msgspec.structs.replace(seen.workload, record=caught_up, last=None)
    history = decision.snapshot.history or History()
    seen = msgspec.structs.replace(
        seen, workload=workload, history=history, waiting_since=None, quiet_since=None,
        spreads=(), traffic=None,
    )  # fmt: skip
    found = decide(seen, now, listing.world.dialects)
    changed = {
        ref.source: listing.world.sources.content(ref.source)
        for ref in seen.references
        if listing.world.sources.content(ref.source)
        is not decision.snapshot.sources.get(ref.source)
    }
    if not changed:
        return None
    keys = {
        change.reference.source: tuple(sorted(change.keys))
        for change in found.changes
        if change.reference.source in changed
    }
    return Supposed(decision.key, found, keys)


def _as_served(kind: SourceKind, one: ManifestSource, version: int, now: datetime) -> Source:
    """A source as the API server would show it after it was applied."""
    made = one.object
    metadata = Touched(
        name=made.key.name,
        namespace=made.key.namespace,
        resource_version=str(version),
        annotations=dict(made.annotations),
        labels=dict(made.labels),
        managed_fields=[Touch(now)],
    )
    texts, binaries = _split(kind, values_of(kind, made.node))
    return Source(metadata, _raw(texts), _raw(binaries))


def _split(kind: SourceKind, values: Mapping[str, bytes]) -> tuple[dict[str, str], dict[str, str]]:
    """Values as a Secret holds them, or as a ConfigMap does: what is no text is apart."""
    encoded = {name: base64.b64encode(value).decode() for name, value in values.items()}
    if kind.keyed:
        return encoded, {}
    texts: dict[str, str] = {}
    for name, value in values.items():
        try:
            texts[name] = value.decode()
        except UnicodeDecodeError:
            continue
    return texts, {name: text for name, text in encoded.items() if name not in texts}


def _raw(values: dict[str, str]) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(values))
