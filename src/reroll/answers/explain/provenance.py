"""What annotation, setting or default decided how a workload is treated. Pure."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from functools import reduce
from typing import Any, NamedTuple

from reroll.core.dialects.reroll import ANNOTATIONS, REROLL, SOURCE_LISTS
from reroll.core.dialects.rows import Place
from reroll.core.dialects.table import Dialects
from reroll.core.model.key import Key
from reroll.core.policy.durations import format_duration
from reroll.core.policy.policy import Policy
from reroll.core.tables.annotations import DOMAIN
from reroll.core.tables.kinds import Kind

_LONGEST = 80
DEFAULT, SETTINGS = "the default", "the settings"
_WORDS = {"mounts_are_live": ("live", "frozen")}
"""For yes and no, where the annotation has other words than `true` and `false`."""


class Decided(NamedTuple):
    """`mounts` is `frozen`, because of the default."""

    name: str
    value: str
    because: str


class Said(NamedTuple):
    """What people wrote that concerns one workload, by where they wrote it."""

    key: Key
    kind: Kind
    workload: Mapping[str, str]
    template: Mapping[str, str]
    namespace: Mapping[str, str]


def decided(said: Said, policy: Policy, default: Policy, dialects: Dialects) -> list[Decided]:
    """Every part of the policy with what decided it; then the words of other dialects."""
    found = [_enabled(said, policy, default), _strategy(said, policy, default)]
    for row in ANNOTATIONS:
        if row.field in {"enabled", "strategy"}:
            continue
        value = reduce(getattr, row.field.split("."), policy)
        usual = reduce(getattr, row.field.split("."), default)
        text, where = _spoken(said, row.key, row.parse)
        if where or value != usual:
            found.append(Decided(row.name, text or _shown(value, row.field), where or SETTINGS))
        elif isinstance(value, bool | timedelta):
            built_in = value == reduce(getattr, row.field.split("."), Policy())
            because = DEFAULT if built_in else SETTINGS
            found.append(Decided(row.name, _shown(value, row.field), because))
    for name in SOURCE_LISTS:
        text, where = _spoken(said, DOMAIN + name, str)
        if where:
            found.append(Decided(name, text, where))
    return [*found, *_foreign(said, dialects)]


def _shown(value: Any, field: str) -> str:
    match value:
        case timedelta():
            return format_duration(value)
        case bool():
            yes, no = _WORDS.get(field, ("true", "false"))
            return yes if value else no
    return "-" if value is None else str(value)


def _enabled(said: Said, policy: Policy, default: Policy) -> Decided:
    value = {True: "true", False: "false", None: "not said"}[policy.enabled]
    row = next(row for row in ANNOTATIONS if row.field == "enabled")
    _, where = _spoken(said, row.key, row.parse)
    if not where and policy.enabled is not None:
        spoken = [name for name in policy.by if name != REROLL.name]
        where = f"annotations of {', '.join(spoken)}" if spoken else ""
        where = where or (SETTINGS if default.enabled else "annotations of another dialect")
    return Decided("enabled", value, where or DEFAULT)


def _strategy(said: Said, policy: Policy, default: Policy) -> Decided:
    row = next(row for row in ANNOTATIONS if row.field == "strategy")
    text, where = _spoken(said, row.key, row.parse)
    value = policy.strategy_for(said.kind)
    if where and text.strip() == value:
        return Decided("strategy", value, where)
    if policy.strategy is None:
        return Decided("strategy", value, f"what a {said.kind.name} does by default")
    if policy.strategy is default.strategy:
        return Decided("strategy", value, SETTINGS)
    return Decided("strategy", value, f"what {', '.join(policy.by)} does with a {said.kind.name}")


def _spoken(said: Said, key: str, parse: Any) -> tuple[str, str]:
    """The text of an annotation that can be used, and where it stands; empty if there is none."""
    places = (said.workload, str(said.key)), (said.namespace, f"Namespace {said.key.namespace}")
    for annotations, where in places:
        if (text := annotations.get(key)) is None:
            continue
        try:
            parse(text)
        except ValueError:
            continue
        return text[:_LONGEST], f"annotation {key} on {where}"
    return "", ""


def _foreign(said: Said, dialects: Dialects) -> Iterator[Decided]:
    """The words of other dialects that somebody wrote."""
    places = {
        Place.WORKLOAD: (said.workload, str(said.key)),
        Place.TEMPLATE: (said.template, "its pod template"),
        Place.NAMESPACE: (said.namespace, f"Namespace {said.key.namespace}"),
    }
    for row in dialects.rows:
        for word in () if row is REROLL else row.words(dialects.options):
            for place in word.places:
                annotations, where = places.get(place, ({}, ""))
                if word.key in annotations:
                    text = annotations[word.key][:_LONGEST]
                    yield Decided(word.key, text, f"{row.name}, on {where}")
