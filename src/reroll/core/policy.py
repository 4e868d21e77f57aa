"""Annotations to policy: the workload's, then its Namespace's, then the settings'.

A bad value is a problem, never an exception and never silence; everything else of the policy still
applies. Each annotation is a row of ANNOTATIONS.
"""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

import msgspec

from reroll.core.durations import parse_duration
from reroll.core.kinds import Kind, Strategy
from reroll.core.objects import Key, Problem, Reference
from reroll.core.patterns import Pattern, parse_patterns

DOMAIN = "reroll.dev/"
STATE = DOMAIN + "state"
STAMP = DOMAIN + "config-hash"
ENABLED = DOMAIN + "enabled"
IGNORE = DOMAIN + "ignore"
ALLOW_FROM = DOMAIN + "allow-from"
STAMP_ENV = "REROLL_CONFIG_HASH"


class Reload(msgspec.Struct, frozen=True, gc=False):
    """Where a pod listens for the request to read its configuration again."""

    path: str = "/-/reload"
    port: int = 8080
    method: str = "POST"
    scheme: str = "http"


class Policy(msgspec.Struct, frozen=True, gc=False):
    """How one workload is treated, whoever decided it."""

    enabled: bool | None = None
    """`None`: nobody said anything."""
    sources: tuple[Pattern, ...] = ()
    ignore: tuple[Pattern, ...] = ()
    mounts_are_live: bool = False
    strategy: Strategy | None = None
    """`None`: what its kind does by default."""
    debounce: timedelta = timedelta(seconds=1)
    debounce_limit: timedelta = timedelta(seconds=10)
    reload: Reload = Reload()
    problems: tuple[Problem, ...] = ()

    def strategy_for(self, kind: Kind) -> Strategy:
        return self.strategy or kind.default_strategy


class Annotation(msgspec.Struct, frozen=True):
    """One key of the reroll dialect."""

    name: str
    field: str
    parse: Callable[[str], Any]
    """The value, or a `ValueError` whose text says what to write instead."""
    help: str
    example: str

    @property
    def key(self) -> str:
        return DOMAIN + self.name


def _boolean(text: str) -> bool:
    match text.strip().lower():
        case "true":
            return True
        case "false":
            return False
    raise ValueError('is neither "true" nor "false"')


def _duration(text: str) -> timedelta:
    duration = parse_duration(text)
    if duration is None or duration > timedelta(days=1):
        raise ValueError('is not a duration of at most a day; write e.g. "1s" or "500ms"')
    return duration


def _strategy(text: str) -> Strategy:
    try:
        return Strategy(text.strip())
    except ValueError:
        raise ValueError(f"is no strategy; use one of {', '.join(Strategy)}") from None


def _mounts(text: str) -> bool:
    match text.strip():
        case "live":
            return True
        case "frozen":
            return False
    raise ValueError('is neither "frozen" nor "live"')


def _port(text: str) -> int:
    digits = text.strip()
    if digits.isdecimal() and len(digits) <= 5 and 0 < int(digits) < 65536:
        return int(digits)
    raise ValueError("is not a port number between 1 and 65535")


def _path(text: str) -> str:
    if text.startswith("/") and text.isascii() and text.isprintable() and " " not in text:
        return text
    raise ValueError('is not an absolute URL path; write e.g. "/-/reload"')


ANNOTATIONS: tuple[Annotation, ...] = (
    Annotation("enabled", "enabled", _boolean, "opt in, or out", '"true"'),
    Annotation("mounts", "mounts_are_live", _mounts, "`live`: the application reads mounted files again itself, so plain mounts do not roll it", "live"),
    Annotation("strategy", "strategy", _strategy, "how it gets its new configuration", "evict"),
    Annotation("debounce", "debounce", _duration, "quiet time before a roll, so that one `apply` of five objects is one roll", "5s"),
    Annotation("reload-port", "reload.port", _port, "strategy `reload`: the port that each pod listens on", '"9090"'),
    Annotation("reload-path", "reload.path", _path, "strategy `reload`: the path of the request", "/-/reload"),
)  # fmt: skip

# These two are lists: each item is judged on its own.
SOURCE_LISTS = {"sources": "sources", "ignore": "ignore"}


def policy(
    workload: Mapping[str, str], namespace: Mapping[str, str], default: Policy, where: Key
) -> Policy:
    """What the annotations of a workload and its Namespace make of the default policy."""
    values: dict[str, Any] = {}
    problems: list[Problem] = []
    for place, annotations in ((f"Namespace {where.namespace}", namespace), (str(where), workload)):
        for row in ANNOTATIONS:
            if (text := annotations.get(row.key)) is None:
                continue
            try:
                values[row.field] = row.parse(text)
            except ValueError as error:
                sentence = f"annotation {row.key} on {place}: {text[:80]!r} {error}"
                problems.append(Problem(sentence))
        for name, field in SOURCE_LISTS.items():
            if (text := annotations.get(DOMAIN + name)) is not None:
                found, bad = parse_patterns(text, f"annotation {DOMAIN}{name} on {place}")
                values[field] = found
                problems += bad
    if not values and not problems:
        return default
    reload = {f.partition(".")[2]: values.pop(f) for f in list(values) if f.startswith("reload.")}
    if reload:
        values["reload"] = msgspec.structs.replace(default.reload, **reload)
    return msgspec.structs.replace(default, **values, problems=tuple(problems))


def usual(default: Policy, kind: Kind) -> Policy:
    """The default policy for a kind: a strategy that it cannot do is not meant for it."""
    if default.strategy is None or default.strategy in kind.strategies:
        return default
    return msgspec.structs.replace(default, strategy=None)


def for_kind(found: Policy, kind: Kind, where: Key) -> Policy:
    """The policy as far as this kind can follow it."""
    if found.strategy is None or found.strategy in kind.strategies:
        return found
    sentence = (
        f"annotation {DOMAIN}strategy for {where}: a {kind.name} cannot do {found.strategy.value!r}; "
        f"it does {kind.default_strategy.value!r} instead; use one of {', '.join(kind.strategies)}"
    )
    return msgspec.structs.replace(
        found, strategy=None, problems=(*found.problems, Problem(sentence))
    )


def without_ignored(
    found: tuple[Reference, ...], policy: Policy, home: str
) -> tuple[Reference, ...]:
    """The references less what the policy ignores, whole sources or single keys."""
    kept = []
    for reference in found:
        ignored = [p for p in policy.ignore if p.matches(reference.source, home)]
        if any(pattern.key is None for pattern in ignored):
            continue
        keys = frozenset(pattern.key for pattern in ignored if pattern.key)
        kept.append(msgspec.structs.replace(reference, without=keys) if keys else reference)
    return tuple(kept)


def ignores(annotations: Mapping[str, str]) -> bool:
    """Whether a source wants to roll nobody; a `ValueError` says what is wrong with how it says so."""
    text = annotations.get(IGNORE)
    return text is not None and _boolean(text)


def allowed_namespaces(annotations: Mapping[str, str]) -> frozenset[str]:
    """The namespaces that a source lets refer to it, besides its own."""
    listed = annotations.get(ALLOW_FROM, "").split(",")
    return frozenset(name.strip() for name in listed if name.strip())


def of_our_domain(annotations: Mapping[str, str]) -> dict[str, str]:
    """The annotations that can matter, so that nothing else is kept."""
    return {key: value for key, value in annotations.items() if key.startswith(DOMAIN)}
