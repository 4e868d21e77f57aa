"""The dialect of this product: annotations of a workload, then of its Namespace, then the settings.

Each annotation is a row of ANNOTATIONS.
"""

# ruff: noqa: E501  the tables read best one row a line

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from difflib import get_close_matches
from typing import Any

import msgspec

from reroll.core.dialects.rows import Dialect, Opinion, Options, Place, PolicyInput, Roll, Word
from reroll.core.model.content import Term, allows
from reroll.core.model.injection import KIND as INJECTION
from reroll.core.model.key import Key, Problem
from reroll.core.model.marks import Mark
from reroll.core.policy.durations import parse_duration, parse_time
from reroll.core.policy.patterns import items_of, parse_patterns
from reroll.core.policy.policy import Claim, Hold, Policy
from reroll.core.revisions.pins import PINS
from reroll.core.tables.annotations import (
    ALLOW_FROM,
    DELETING,
    DOMAIN,
    ENABLED,
    IGNORE,
    INJECTION_READERS,
    INJECTION_WRITERS,
    PIN_MODES,
    STAMP,
    STAMP_ENV,
    STATE,
)
from reroll.core.tables.catalog import TABLES, Tables
from reroll.core.tables.kinds import Strategy


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


def _pin(text: str) -> str:
    if (mode := text.strip()) in PIN_MODES:
        return mode
    raise ValueError(f"is none of {', '.join(PIN_MODES)}")


def _port(text: str) -> int:
    digits = text.strip()
    if digits.isdecimal() and len(digits) <= 5 and 0 < int(digits) < 65536:
        return int(digits)
    raise ValueError("is not a port number between 1 and 65535")


def _path(text: str) -> str:
    if text.startswith("/") and text.isascii() and text.isprintable() and " " not in text:
        return text
    raise ValueError('is not an absolute URL path; write e.g. "/-/reload"')


def _hold(text: str) -> Hold | None:
    """`until TIME reason`, or a reason, or just `true`. What is no time is a reason to hold too."""
    said = text.strip()
    if said.lower() in {"", "false"}:
        return None
    if said.lower() == "true":
        return Hold()
    word, _, rest = said.partition(" ")
    moment, _, why = rest.strip().partition(" ")
    until = parse_time(moment.rstrip(":,;")) if word.lower() == "until" else None
    return Hold(until, why.strip()) if until else Hold(why=said[:200])


ANNOTATIONS: tuple[Annotation, ...] = (
    Annotation("enabled", "enabled", _boolean, "opt in, or out", '"true"'),
    Annotation("mounts", "mounts_are_live", _mounts, "`live`: the application reads mounted files again itself, so plain mounts do not roll it", "live"),
    Annotation("strategy", "strategy", _strategy, "how it gets its new configuration", "evict"),
    Annotation("debounce", "debounce", _duration, "quiet time before a roll, so that one `apply` of five objects is one roll", "5s"),
    Annotation("hold", "hold", _hold, "do not roll it now: `true`, a reason, or `until` a time and a reason; on a workload, `false` lets it go although its Namespace is held", "until 2026-11-16T09:00:00Z incident 42"),
    Annotation("revisions", "revisions", _boolean, "pods use immutable copies of its ConfigMaps and Secrets, those of their own revision", '"true"'),
    Annotation("pin", "pin", _pin, "how they come to use them: `admission` when a pod is made, `template` by names in the pod template, `auto` by what is installed", "template"),
    Annotation("reload-port", "reload.port", _port, "strategy `reload`: the port that each pod listens on", '"9090"'),
    Annotation("reload-path", "reload.path", _path, "strategy `reload`: the path of the request", "/-/reload"),
)  # fmt: skip

# These two are lists: each item is judged on its own.
SOURCE_LISTS = {"sources": "sources", "ignore": "ignore"}


def policy(
    workload: Mapping[str, str],
    namespace: Mapping[str, str],
    default: Policy,
    where: Key,
    tables: Tables = TABLES,
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
                found, bad = parse_patterns(text, f"annotation {DOMAIN}{name} on {place}", tables)
                values[field] = found
                problems += bad
        problems += _unknown(annotations, place)
    if not values and not problems:
        return default
    reload = {f.partition(".")[2]: values.pop(f) for f in list(values) if f.startswith("reload.")}
    if reload:
        values["reload"] = msgspec.structs.replace(default.reload, **reload)
    return msgspec.structs.replace(default, **values, problems=tuple(problems))


def _unknown(annotations: Mapping[str, str], place: str) -> Iterator[Problem]:
    """Keys of our domain that mean nothing: most of them are misspelt."""
    for key in sorted(filter(_is_unknown, annotations)):
        near = get_close_matches(key, sorted(_SAID), 1, 0.8)
        hint = f"; did you mean {near[0]}?" if near else "; see the reference of annotations"
        yield Problem(f"annotation {key[:80]} on {place} means nothing{hint}")


def _is_unknown(key: str) -> bool:
    return key.startswith(DOMAIN) and key not in _KNOWN


def ignores(annotations: Mapping[str, str]) -> bool:
    """Whether a source wants to roll nobody; a `ValueError` says what is wrong with how it says so."""
    text = annotations.get(IGNORE)
    return text is not None and _boolean(text)


def namespaces_in(annotations: Mapping[str, str], consent: str) -> frozenset[str]:
    """The namespaces, or globs of them, that an annotation of consent lists."""
    listed, _ = items_of(annotations.get(consent), consent)
    return frozenset(listed)


def consents(annotations: Mapping[str, str] | None, namespace: str, consent: str) -> bool:
    """Whether an object lets a namespace do what this annotation of consent is for.

    Each consent is an annotation of its own; none follows from another.
    """
    return allows(namespaces_in(annotations or {}, consent), namespace)


def lets(annotations: Mapping[str, str] | None, user: Key) -> bool:
    """Whether a source lets an object of another namespace use it."""
    consent = INJECTION_READERS if user.kind == INJECTION else ALLOW_FROM
    return consents(annotations, user.namespace, consent)


# The row of the table

_TERM = Term("reroll")


def _quick(workload: Mapping[str, str], namespace: Mapping[str, str]) -> bool | None:
    """A bad value is looked at more closely."""
    text = workload.get(ENABLED, namespace.get(ENABLED))
    if text is None:
        return True if any(map(_is_unknown, workload)) else None
    return text.strip().lower() != "false"


def _read(told: PolicyInput, options: Options) -> Opinion:
    default = msgspec.structs.replace(told.default, enabled=None)
    found = policy(told.workload, told.namespace, default, told.key, options.tables)
    return Opinion(
        enabled=found.enabled,
        claims=(Claim(_TERM, options.sources, found.sources),),
        strategy=None if found.strategy is default.strategy else found.strategy,
        base=found,
        problems=found.problems,
    )


def _marks(roll: Roll, _: Options) -> tuple[Mark, ...]:
    match roll.strategy:
        case Strategy.STAMP:
            return (Mark(STAMP, roll.stamp),)
        case Strategy.ENV:
            return (Mark(STAMP_ENV, roll.stamp, container=0),)
    return ()


def _words(_: Options) -> tuple[Word, ...]:
    both = (Place.WORKLOAD, Place.NAMESPACE)
    return (
        *(Word(row.key, both, row.help, row.example) for row in ANNOTATIONS),
        Word(
            DOMAIN + "sources",
            both,
            "more sources than the pod template names: kind, namespace if it is another one, name or glob, key if only one matters",
            "configmap/app, secret/db#password",
        ),
        Word(IGNORE, both, "sources or keys that must not roll it", "secret/db#comment"),
        Word(IGNORE, (Place.SOURCE,), "this source rolls nothing", '"true"'),
        Word(
            ALLOW_FROM,
            (Place.SOURCE,),
            "the namespaces whose workloads may name this source; globs",
            "team-a, team-b",
        ),
        Word(
            INJECTION_READERS,
            (Place.SOURCE,),
            "the namespaces whose Injections may read the values of this source; globs",
            "team-a",
        ),
        Word(
            INJECTION_WRITERS,
            (Place.TARGET,),
            "the namespaces whose Injections may write to this object; globs",
            "team-a",
        ),
        Word(STATE, (Place.RECORD,), "the record, what it last rolled with"),
        Word(
            DELETING,
            (Place.RECORD,),
            "a Job that is deleted to be created again: the uid of the ControllerRevision that holds it",
        ),
        Word(PINS, (Place.MARK,), "the copies that pods of this template use"),
        Word(STAMP, (Place.MARK,), "the stamp of the strategy `stamp`"),
        Word(STAMP_ENV, (Place.MARK,), "a variable, the stamp of the strategy `env`"),
    )


_SAID = frozenset(row.key for row in ANNOTATIONS) | {DOMAIN + name for name in SOURCE_LISTS}
"""What people write on workloads and Namespaces."""
_KNOWN = frozenset(word.key for word in _words(Options()))


REROLL = Dialect(
    name="reroll",
    help="the annotations of this product",
    words=_words,
    quick=_quick,
    read=_read,
    marks=_marks,
    vetoes=True,
)
