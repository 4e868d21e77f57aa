"""Where the spec of a pod names a pinned source, and the copy to name instead.

Pure. The webhook, the `template` mode and, as CEL, the admission policy all rewrite by this one
table of fields, so a pod is the same whoever made it so.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from reroll.core.fields import EACH, PINNED_FIELDS
from reroll.core.kinds import Path

Pins = Mapping[tuple[str, str], str]
"""The copy to use, by kind and name of the source."""
Steps = tuple[str | int, ...]


class Rewrite(NamedTuple):
    """One field below the spec of a pod that names a pinned source."""

    steps: Steps
    plain: str
    copy: str


def rewrites(spec: Mapping[str, Any], pins: Pins) -> Iterator[Rewrite]:
    """Every field of a pod's spec that has to name a copy; what is odd in it is left alone."""
    for field in PINNED_FIELDS:
        for steps, name in _found(spec, field.path):
            copy = pins.get((field.source, name))
            if copy is not None:
                yield Rewrite(steps, name, copy)


def _found(here: Any, path: Path, so_far: Steps = ()) -> Iterator[tuple[Steps, str]]:
    if not path:
        if isinstance(here, str):
            yield so_far, here
        return
    step, rest = path[0], path[1:]
    if step == EACH:
        for place, item in enumerate(here if isinstance(here, list) else ()):
            yield from _found(item, rest, (*so_far, place))
    elif isinstance(here, Mapping) and step in here:
        yield from _found(here[step], rest, (*so_far, step))
