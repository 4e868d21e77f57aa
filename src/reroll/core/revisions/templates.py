"""What a workload is pinned to, as its template says it, and whether its pods have to be rewritten.

Pure.
"""

from typing import Any, NamedTuple

import msgspec

from reroll.core.model.metadata import Manifest, pick
from reroll.core.revisions.pins import PINS, Pins, read_pins, rewrites
from reroll.core.tables.kinds import Kind


class TemplatePins(NamedTuple):
    pins: Pins
    in_template: bool
    """Its template names the copies itself, so that nobody has to rewrite its pods."""


def template_pins(kind: Kind, manifest: Manifest) -> TemplatePins | None:
    """The pins of a workload; `None` if it has none."""
    raw = pick(manifest, kind.template)
    return of_template(msgspec.json.decode(raw)) if raw and PINS.encode() in bytes(raw) else None


def of_template(template: dict[str, Any]) -> TemplatePins | None:
    """The pins of a pod template, or of a pod, which has the same fields."""
    annotations = (template.get("metadata") or {}).get("annotations") or {}
    pins = read_pins(str(annotations.get(PINS, "")))
    if not pins:
        return None
    return TemplatePins(pins, in_template=not any(rewrites(template.get("spec") or {}, pins)))
