"""Places in an object that a row of a config file tells: what they name, and what is not there.

Pure. `*` in a path is each item of a list, or each value of a map.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from reroll.core.policy.references import Use
from reroll.core.tables.kinds import EACH, Kind, Naming, Path

NAME_FIELDS = ("name", "secretName", "configMapName")
"""How objects call the field that names a source."""


class Beside(msgspec.Struct, frozen=True, gc=False):
    """What matters of a workload beside its pod template."""

    uses: tuple[Use, ...] = ()
    lacks: int = 0
    """How many of the last steps are not there of the path where a roll writes."""
    marks: dict[str, str] = {}
    """What a roll has written there."""


NOTHING = Beside()


def found_beside(kind: Kind, document: Any, words: frozenset[str]) -> Beside:
    """`words` are the marks that matter."""
    path = kind.stamp.path if kind.stamp else ()
    notes = next((value for _, value in values_at(document, path)), None) if path else None
    texts = notes.items() if isinstance(notes, Mapping) else ()
    return Beside(
        tuple(named(kind.names, document)),
        lacking(document, path),
        {name: text for name, text in texts if name in words and isinstance(text, str)},
    )


def named(fields: tuple[Naming, ...], document: Any) -> Iterator[Use]:
    """Every use of a source in these fields of an object."""
    for field in fields:
        for place, value in values_at(document, field.path):
            use = _use(field, place, value)
            if use is not None:
                yield use


def _use(field: Naming, place: str, value: Any) -> Use | None:
    """A name, or an object with one; it may tell the keys that matter, as in a pod."""
    if isinstance(value, str) and value:
        return Use(field.source, value, place, optional=field.optional)
    if not isinstance(value, Mapping):
        return None
    name = next((found for key in NAME_FIELDS if (found := _text(value.get(key)))), "")
    if not name:
        return None
    keys = _keys(value)
    optional = field.optional or value.get("optional") is True
    return Use(field.source, name, place, keys, optional=optional, needs=keys or frozenset())


def _keys(value: Mapping[str, Any]) -> frozenset[str] | None:
    """The keys that an object names; `None`: all."""
    if key := _text(value.get("key")):
        return frozenset((key,))
    items = value.get("items")
    if not isinstance(items, list) or not items:
        return None
    found = (_text(item.get("key")) for item in items if isinstance(item, Mapping))
    return frozenset(filter(None, found))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def values_at(document: Any, path: Path, place: str = "") -> Iterator[tuple[str, Any]]:
    """What is at a path, each with its place: `spec.secrets[0]`."""
    if not path:
        yield place, document
        return
    step, rest = path[0], path[1:]
    if step != EACH:
        if isinstance(document, Mapping) and document.get(step) is not None:
            yield from values_at(document[step], rest, f"{place}.{step}" if place else step)
    elif isinstance(document, Mapping):
        for key, value in document.items():
            yield from values_at(value, rest, f"{place}.{key}")
    elif isinstance(document, list):
        for number, value in enumerate(document):
            yield from values_at(value, rest, f"{place}[{number}]")


def shown(path: Path) -> str:
    """A path as people write it."""
    return ".".join(path).replace(f".{EACH}", f"[{EACH}]")


def lacking(document: Any, path: Path) -> int:
    """How many of the last steps of a path to a map are not there."""
    here = document
    for taken, step in enumerate(path):
        here = here.get(step) if isinstance(here, Mapping) else None
        if here is None:
            return len(path) - taken
    return 0
