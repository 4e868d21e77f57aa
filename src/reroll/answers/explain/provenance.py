"""What annotation, setting or default decided how a workload is treated. Pure."""

from collections.abc import Iterator
from datetime import timedelta
from functools import reduce
from typing import Any, NamedTuple

from reroll.core.dialects.reroll import ANNOTATIONS, REROLL, SOURCE_LISTS
from reroll.core.dialects.rows import Place, PolicyInput
from reroll.core.dialects.table import Dialects
from reroll.core.policy.durations import format_duration
from reroll.core.policy.policy import Policy
from reroll.core.tables.annotations import DOMAIN

_LONGEST = 80
DEFAULT, SETTINGS = "the default", "the settings"
_WORDS = {"mounts_are_live": ("live", "frozen")}
"""For yes and no, where the annotation has other words than `true` and `false`."""


class Provenance(NamedTuple):
    """One part of a policy and where it comes from: `mounts` is `frozen`, by default."""

    name: str
    value: str
    because: str


def provenance(told: PolicyInput, policy: Policy, dialects: Dialects) -> list[Provenance]:
    """Every part of the policy with what decided it; then the words of other dialects."""
    parts = [_enabled(told, policy), _strategy(told, policy)]
    for row in ANNOTATIONS:
        if row.field in {"enabled", "strategy"}:
            continue
        value = reduce(getattr, row.field.split("."), policy)
        usual = reduce(getattr, row.field.split("."), told.default)
        text, where = _spoken(told, row.key, row.parse)
        if where or value != usual:
            parts.append(Provenance(row.name, text or _shown(value, row.field), where or SETTINGS))
        elif isinstance(value, bool | timedelta) and "." not in row.field:
            built_in = value == reduce(getattr, row.field.split("."), Policy())
            because = DEFAULT if built_in else SETTINGS
            parts.append(Provenance(row.name, _shown(value, row.field), because))
    for name in SOURCE_LISTS:
        text, where = _spoken(told, DOMAIN + name, str)
        if where:
            parts.append(Provenance(name, text, where))
    return [*parts, *_foreign(told, dialects)]


def _shown(value: Any, field: str) -> str:
    match value:
        case timedelta():
            return format_duration(value)
        case bool():
            yes, no = _WORDS.get(field, ("true", "false"))
            return yes if value else no
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


def _strategy(told: PolicyInput, policy: Policy) -> Provenance:
    row = next(row for row in ANNOTATIONS if row.field == "strategy")
    text, where = _spoken(told, row.key, row.parse)
    value = policy.strategy_for(told.kind)
    if where and text.strip() == value:
        return Provenance("strategy", value, where)
    if policy.strategy is None:
        return Provenance("strategy", value, f"what a {told.kind.name} does by default")
    if policy.strategy is told.default.strategy:
        return Provenance("strategy", value, SETTINGS)
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
