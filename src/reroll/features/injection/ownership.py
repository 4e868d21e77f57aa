"""Who owns a field, and whether it can be applied alone, according to `managedFields`.

Pure. The API server keeps for every manager the set of fields that it wrote last, as a tree: `f:`
is a field, `k:` an item of a list by its keys. A tree that ends above a path owns all below.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from reroll.core.model.fieldpaths import Filter, Name, Path, Step

Fields = Mapping[str, Any]


class Managed(msgspec.Struct, gc=False, rename={"fields": "fieldsV1", "api_version": "apiVersion"}):
    """One entry of `managedFields`."""

    manager: str = ""
    operation: str = ""
    subresource: str = ""
    api_version: str = ""
    fields: dict[str, Any] | None = None


class Owner(NamedTuple):
    manager: str
    operation: str


def owners(managed: Iterable[Managed], path: Path) -> list[Owner]:
    """The owners of the field at a path.

    The owner of an atomic list or map owns all of it, and no manager can own a part of it. So where
    one owns a part, the others whose tree ends above it own a list or map that was empty.
    """
    depths = [
        (_depth(entry.fields or {}, path), Owner(entry.manager, entry.operation))
        for entry in managed
        if not entry.subresource
    ]
    deepest = max((depth for depth, _ in depths), default=0)
    return [owner for depth, owner in depths if depth and depth == deepest]


def _depth(fields: Fields, path: Path) -> int:
    """How many steps down the path a tree owns it; 0 if it does not."""
    here: Any = fields
    for number, step in enumerate(path):
        if number and not here:
            return number
        key = _key(step)
        if key is None or key not in here:
            return 0
        here = here[key]
    return len(path)


def can_be_applied(managed: Iterable[Managed], document: Any, path: Path) -> bool:
    """Whether applying one field leaves its neighbours alone, as far as is known.

    Applying replaces an atomic list or map as a whole. A list or map that holds other fields is
    known not to be atomic when a manager owns a part of it.
    """
    if not isinstance(path[-1], Name):
        return False
    entries, here = [entry.fields or {} for entry in managed], document
    for number, step in enumerate(path):
        if number and not _is_shared(entries, here, path[:number], step):
            return False
        here = _into(here, step)
        if here is None:
            # It does not exist, so nothing can be lost; but no item of a list can be created.
            return all(isinstance(rest, Name) for rest in path[number:])
    return True


def _is_shared(entries: Iterable[Fields], here: Any, path: Path, step: Step) -> bool:
    if isinstance(step, Name) and not (here.keys() - {step.name}):
        return True
    parts = [key for fields in entries for key in _parts(fields, path)]
    if isinstance(step, Name):
        return any(key == "." or key.startswith("f:") for key in parts)
    return isinstance(step, Filter) and _key(step) in parts


def _parts(fields: Fields, path: Path) -> Iterator[str]:
    """The parts of what is at a path that a manager owns."""
    here: Any = fields
    for step in path:
        here = here.get(_key(step) or "")
        if here is None:
            return
    yield from here


def _into(here: Any, step: Step) -> Any:
    if isinstance(step, Name):
        return here.get(step.name) if isinstance(here, dict) else None
    if isinstance(step, Filter) and isinstance(here, list):
        return next((item for item in here if step.holds(item)), None)
    return None


def _key(step: Step) -> str | None:
    """A step as the API server writes it; an item is never owned by its index."""
    if isinstance(step, Name):
        return f"f:{step.name}"
    if isinstance(step, Filter):
        return f"k:{msgspec.json.encode({step.field: step.value}).decode()}"
    return None
