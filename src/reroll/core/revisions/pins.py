"""The pins of a pod, and where its spec names a pinned source.

Pure. The webhook, the `template` mode and, as CEL, the admission policy all read the annotation and
rewrite by the same pattern and the same table of fields, so a pod is the same whoever made it so.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from reroll.core.tables.annotations import DOMAIN
from reroll.core.tables.fields import PINNED_FIELDS
from reroll.core.tables.kinds import EACH, Path
from reroll.core.tables.source_kinds import SOURCE_KINDS

PINS = DOMAIN + "pins"
"""The annotation of a pod template: `configmap/app=app-1a2b3c4d5e,secret/db=db-77ff00aa11`."""
_NAME = "[a-z0-9]([-a-z0-9.]*[a-z0-9])?"
PIN = f"^(configmap|secret)/{_NAME}={_NAME}$"
"""One pin, as a regular expression that Python and CEL read alike."""
_pin = re.compile(PIN)
_KINDS = {row.aliases[0]: row.name for row in SOURCE_KINDS}

Pins = Mapping[tuple[str, str], str]
"""The copy to use, by kind and name of the source."""
Steps = tuple[str | int, ...]


class Rewrite(NamedTuple):
    """One field below the spec of a pod that names a pinned source."""

    steps: Steps
    plain: str
    copy: str


def read_pins(text: str) -> dict[tuple[str, str], str]:
    """The pins in an annotation; what is none is left out, the first for a source counts."""
    found: dict[tuple[str, str], str] = {}
    for part in text.split(","):
        pin = part.strip()
        if _pin.match(pin):
            source, _, copy = pin.partition("=")
            word, _, name = source.partition("/")
            found.setdefault((_KINDS[word], name), copy)
    return found


def write_pins(pins: Pins) -> str:
    """The same pins always give the same text, and so the same ReplicaSet."""
    return ",".join(sorted(f"{kind.lower()}/{name}={copy}" for (kind, name), copy in pins.items()))


def rewrites(spec: Mapping[str, Any] | msgspec.Struct, pins: Pins) -> Iterator[Rewrite]:
    """Every field of a pod's spec that has to name a copy; what is odd in it is left alone.

    The spec is a document, or a `PinnedSpec`.
    """
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
    elif isinstance(here, msgspec.Struct):
        yield from _found(getattr(here, step), rest, (*so_far, step))
    elif isinstance(here, Mapping) and step in here:
        yield from _found(here[step], rest, (*so_far, step))
