"""The spec of a pod, as far as pins concern it, as a type to decode into.

Pure. The type is made of the table of fields, so a field that is pinned is a field that is decoded.
All else is skipped while decoding: what a spec costs in memory is what it says about configuration.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from reroll.core.tables.fields import PINNED_FIELDS
from reroll.core.tables.kinds import EACH, Path


def _shape(paths: Iterable[Path]) -> Any:
    """What holds these paths: a text where one ends, a list, or a struct of its next steps."""
    rests: dict[str, list[Path]] = {}
    for path in paths:
        if not path:
            return str
        rests.setdefault(path[0], []).append(path[1:])
    if EACH in rests:
        return list[_shape(rests[EACH])]  # type: ignore[misc]  # a type that is made as it is met
    fields = [(step, _shape(rest) | None, None) for step, rest in rests.items()]
    return msgspec.defstruct("PinnedPart", fields, gc=False)


PinnedSpec: Any = _shape(field.path for field in PINNED_FIELDS)
