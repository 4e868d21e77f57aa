"""What annotation, setting or default decided how a workload is treated. Pure."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import timedelta
from functools import reduce
from typing import Any, NamedTuple

import msgspec

from reroll.core.dialects.annotations import ANNOTATIONS, SOURCE_LISTS
from reroll.core.dialects.own import REROLL
from reroll.core.dialects.rows import PolicyInput
from reroll.core.dialects.table import Dialects
from reroll.core.dialects.words import Place
from reroll.core.model.metadata import Manifest, pick
from reroll.core.model.pace import Rolls
from reroll.core.model.timing import ANY_TIME
from reroll.core.policy.durations import format_duration
from reroll.core.policy.pace import format_rolls
from reroll.core.policy.policy import Policy
from reroll.core.tables.annotations import DOMAIN
from reroll.core.tables.kinds import Kind, Strategy

_LONGEST = 80
DEFAULT, SETTINGS = "the default", "the settings"
_WORDS = {"mounts_are_live": ("live", "frozen")}
"""For yes and no, where the annotation has other words than `true` and `false`."""


class Provenance(NamedTuple):
    """One part of a policy and where it comes from: `mounts` is `frozen`, by default."""

    name: str
    value: str
    because: str


def unread(kind: Kind, manifest: Manifest, dialects: Dialects) -> list[str]:
    """Sentences about annotations of other tools that the controller is not told to read."""
    metadata = manifest.metadata
    there = {*(metadata.annotations or {})}
    raw = pick(manifest, (*kind.template, "metadata", "annotations")) if kind.template else None
    with suppress(msgspec.DecodeError):
        there |= set(msgspec.json.decode(raw, type=dict[str, str]) if raw else ())
    return [
        f"{kind.name} {metadata.namespace}/{metadata.name} has annotations of {name.title()} "
        f"({', '.join(keys)}), which Reroll does not read here; to have them read, set "
        f"`dialects.{name}: true` in the chart, or --dialects reroll,{name}"
        for name, keys in dialects.unread(there).items()
    ]


def provenance(
    told: PolicyInput, policy: Policy, dialects: Dialects, rows: Mapping[str, str]
) -> list[Provenance]:
    """Every part of the policy with what decided it; then the words of other dialects.

    `rows`: where the rows of the settings stand that the default comes from, by field.
    """
    set_by = {field: f"{place} of {SETTINGS}" for field, place in rows.items()}
    parts = [_enabled(told, policy), _strategy(told, policy, set_by)]
    for row in ANNOTATIONS:
        if row.field in {"enabled", "strategy"}:
            continue
        value = reduce(getattr, row.field.split("."), policy)
        usual = reduce(getattr, row.field.split("."), told.default)
        # What cannot be read counts all the same, where that means something.
        text, where = _spoken(told, row.key, row.parse if row.otherwise is None else str)
        is_default = value == reduce(getattr, row.field.split("."), Policy())
        is_shown = isinstance(value, bool | timedelta) and "." not in row.field
        if where or value != usual or not is_default:
            because = where or set_by.get(row.field, SETTINGS)
            parts.append(Provenance(row.name, text or _shown(value, row.field), because))
        elif is_shown:
            because = set_by.get(row.field, DEFAULT)
            parts.append(Provenance(row.name, _shown(value, row.field), because))
    for name in SOURCE_LISTS:
        text, where = _spoken(told, DOMAIN + name, str)
        if where:
            parts.append(Provenance(name, text, where))
    return [*parts, *_foreign(told, dialects)]


def _shown(value: Any, field: str) -> str:
    match value:
        case timedelta() if value == ANY_TIME:
            return "true"
        case timedelta():
            return format_duration(value)
        case bool():
            yes, no = _WORDS.get(field, ("true", "false"))
            return yes if value else no
        case Rolls():
            return format_rolls(value)
    return "-" if value is None else str(value)


def _enabled(told: PolicyInput, policy: Policy) -> Provenance:
    value = {True: "true", False: "false", None: "not said"}[policy.enabled]
    row = next(row for row in ANNOTATIONS if row.field == "enabled")
    _, where = _spoken(told, row.key, row.parse)
    if not where and policy.enabled is not None:
        spoken = [name for name in policy.by if name != REROLL.name]
        where = f"annotations of {', '.join(spoken)}" if spoken else ""
        where = where or (SETTINGS if told.default.enabled else "annotations of another dialect")
    return Provenance("enabled", value, where or DEFAULT)


def _strategy(told: PolicyInput, policy: Policy, set_by: Mapping[str, str]) -> Provenance:
    row = next(row for row in ANNOTATIONS if row.field == "strategy")
    text, where = _spoken(told, row.key, row.parse)
    value = policy.strategy_for(told.kind)
    if where and text.strip() == value:
        return Provenance("strategy", value, where)
    if policy.strategy is None:
        others = [name for name in policy.by if name != REROLL.name]
        marks = f", with the mark of {' and of '.join(others)}" if others else ""
        because = f"what a {told.kind.name} does by default"
        return Provenance("strategy", value, because + (marks if value is Strategy.STAMP else ""))
    if policy.strategy is told.default.strategy:
        return Provenance("strategy", value, set_by.get("strategy", SETTINGS))
    because = f"what {', '.join(policy.by)} does with a {told.kind.name}"
    return Provenance("strategy", value, because)


def _spoken(told: PolicyInput, key: str, parse: Any) -> tuple[str, str]:
    """The text of an annotation that can be used, and where it stands; empty if there is none."""
    places = (told.workload, str(told.key)), (told.namespace, f"Namespace {told.key.namespace}")
    for annotations, where in places:
        if (text := annotations.get(key)) is None:
            continue
        try:
            parse(text)
        except ValueError:
            continue
        return text[:_LONGEST], f"annotation {key} on {where}"
    return "", ""


def _foreign(told: PolicyInput, dialects: Dialects) -> Iterator[Provenance]:
    """The words of other dialects that somebody wrote."""
    places = {
        Place.WORKLOAD: (told.workload, str(told.key)),
        Place.TEMPLATE: (told.template, "its pod template"),
        Place.NAMESPACE: (told.namespace, f"Namespace {told.key.namespace}"),
    }
    for row in dialects.rows:
        for word in () if row is REROLL else row.words(dialects.options):
            for place in word.places:
                annotations, where = places.get(place, ({}, ""))
                if word.key in annotations:
                    text = annotations[word.key][:_LONGEST]
                    yield Provenance(word.key, text, f"{row.name}, on {where}")
