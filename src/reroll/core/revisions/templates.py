"""What a workload is pinned to, as its template says it, and whether its pods have to be rewritten.

Pure.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from reroll.core.model.metadata import Manifest, pick, value_in
from reroll.core.revisions.pins import PINS, Pins, read_pins, rewrites
from reroll.core.tables.kinds import Kind


class TemplatePins(NamedTuple):
    pins: Pins
    in_template: bool
    """Its template names the copies itself, so that nobody has to rewrite its pods."""


def template_pins(kind: Kind, manifest: Manifest) -> TemplatePins | None:
    """The pins of a workload; `None` if it has none."""
    raw = pick(manifest, kind.template)
    has_pins = raw and PINS.encode() in bytes(raw)
    return of_template(value_in(raw, dict[str, Any]) or {}) if has_pins else None


def of_template(template: dict[str, Any]) -> TemplatePins | None:
    """The pins of a pod template, or of a pod, which has the same fields."""
    text = _below(_below(_below(template, "metadata"), "annotations"), PINS)
    pins = read_pins(text) if isinstance(text, str) else {}
    if not pins:
        return None
    return TemplatePins(pins, in_template=not any(rewrites(template.get("spec") or {}, pins)))


def _below(here: Any, name: str) -> Any:
    return here.get(name) if isinstance(here, Mapping) else None
