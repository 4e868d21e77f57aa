"""What Reloader leaves in a pod template: the same names, places and values.

Its hash is not keyed and not free of collisions; it is written for who reads it, and decides
nothing here.
"""

import base64
import hashlib
from collections.abc import Iterator
from datetime import UTC

import msgspec

from reroll.core.dialects.rows import Options, Plain, Roll
from reroll.core.model.content import Content
from reroll.core.model.key import Key
from reroll.core.model.marks import Mark
from reroll.core.model.unreadable import UNREADABLE
from reroll.core.observe.snapshot import Change, Snapshot
from reroll.core.observe.workload import Workload
from reroll.core.policy.references import Use
from reroll.core.tables.kinds import Strategy

NAME = "reloader"
LAST_RELOADED = "reloader.stakater.com/last-reloaded-from"
VARIABLE = "STAKATER_"
DELETED = hashlib.sha1(b"__RELOADER_EMPTY_DELETE_MARKER__", usedforsecurity=False).hexdigest()
_HASH_LENGTH = 40
_WRITTEN_WITH = frozenset((Strategy.STAMP, Strategy.ENV, Strategy.TRIGGER, Strategy.RECREATE))


class Reloaded(msgspec.Struct, gc=False, rename="camel"):
    """The source that changed last, in the order in which Reloader writes the fields."""

    type: str
    name: str
    namespace: str
    hash: str
    container_refs: list[str]
    observed_at: int


def hash_source(plain: Plain) -> str:
    """SHA-1 of `key=value` pieces, sorted; binary values as base64."""
    pieces = [key.encode() + b"=" + value for key, value in plain.texts.items()]
    pieces += [key.encode() + b"=" + base64.b64encode(v) for key, v in plain.binaries.items()]
    if plain.source.kind == "SecretProviderClass":
        pieces.append(b"SecretProviderClassName=" + plain.source.name.encode())
    return hashlib.sha1(b";".join(sorted(pieces)), usedforsecurity=False).hexdigest()


def variable(source: Key) -> str:
    """The name of its variable: `STAKATER_APP_CONFIG_CONFIGMAP`."""
    return f"{VARIABLE}{''.join(_letters(source.name.upper()))}_{source.kind.upper()}"


def _letters(text: str) -> Iterator[str]:
    """Letters and digits; each run of anything else is one underscore, but not at the beginning."""
    after_letter = False
    for character in text:
        is_letter = character.isascii() and character.isalnum()
        if is_letter or after_letter:
            yield character if is_letter else "_"
        after_letter = is_letter


class Carriers:
    """The containers of a workload that get marks; a roll may be for very many sources."""

    def __init__(self, workload: Workload) -> None:
        containers = tuple(reversed(tuple(enumerate(workload.containers))))
        self._places = {each.name: place for place, each in containers}
        self._holding = {name: place for place, each in containers for name in each.env or ()}
        self._uses: dict[tuple[str, str], list[Use]] = {}
        for use in workload.uses:
            self._uses.setdefault((use.kind, use.name), []).append(use)

    def holding(self, variable: str) -> int | None:
        """The first one that has this variable."""
        return self._holding.get(variable)

    def of(self, source: Key) -> int:
        """One that mounts the source, or else uses it, or the first.

        The first too if only init containers use it.
        """
        uses = self._uses.get((source.kind, source.name), [])
        by_mount = [use for use in uses if use.mounted] or uses
        places = self._places
        return min((places[u.container] for u in by_mount if u.container in places), default=0)


def marks(roll: Roll, options: Options) -> tuple[Mark, ...]:
    if roll.strategy not in _WRITTEN_WITH or not roll.changes:
        return ()
    if options.annotate or not roll.seen.workload.containers:
        return (_annotation(roll, roll.changes[-1], options),)
    # Two names may come to one variable: then it tells of the last.
    carriers = Carriers(roll.seen.workload)
    each = (_variable(roll, change, options, carriers) for change in roll.changes)
    return tuple({mark.name: mark for mark in each}.values())


def acted(seen: Snapshot, _: tuple[Change, ...], options: Options) -> bool:
    """Whether a mark tells of what its source holds now, and not in our own way."""
    last = _last(seen.workload.marks.get(LAST_RELOADED))
    for reference in seen.references:
        content = seen.sources.get(reference.source)
        if not isinstance(content, Content):
            continue
        name = reference.source.name
        told = [seen.workload.marks.get(variable(reference.source))]
        told += [last.hash] if last and last.name == name else []
        now = content.hash_of(NAME)
        keyed = options.is_keyed(reference.source, seen.workload.key.namespace)
        if any(each and (each == now or (keyed and len(each) == _HASH_LENGTH)) for each in told):
            return True
    return False


def _last(text: str | None) -> Reloaded | None:
    try:
        return msgspec.json.decode(text, type=Reloaded) if text else None
    except UNREADABLE:
        return None


def _variable(roll: Roll, change: Change, options: Options, carriers: Carriers) -> Mark:
    seen = roll.seen.workload
    name, value = variable(change.reference.source), _hash(roll, change, options)
    holding = carriers.holding(name)
    place = carriers.of(change.reference.source) if holding is None else holding
    if value is None and holding is None:
        value = DELETED  # Nothing to take away, so what it is in an annotation.
    if value is not None and seen.marks.get(name) == value:
        # The pods have something else, or there would be no roll: the same value replaces none.
        value = f"{value}-{roll.record.n}"
    return Mark(name, value, container=place)


def _annotation(roll: Roll, change: Change, options: Options) -> Mark:
    source, seen = change.reference.source, roll.seen.workload
    told = Reloaded(
        type=source.kind.upper(),
        name=source.name,
        namespace=source.namespace,
        hash=_hash(roll, change, options) or DELETED,
        container_refs=[seen.containers[Carriers(seen).of(source)].name] if seen.containers else [],
        observed_at=int(roll.record.at.astimezone(UTC).timestamp()),
    )
    return Mark(LAST_RELOADED, msgspec.json.encode(told).decode())


def _hash(roll: Roll, change: Change, options: Options) -> str | None:
    """`None` of a source that is gone."""
    source = change.reference.source
    content = roll.seen.sources.get(source)
    if not isinstance(content, Content):
        return None
    keyed = options.is_keyed(source, roll.seen.workload.key.namespace)
    return roll.wanted[change.entry] if keyed else content.hash_of(NAME)
