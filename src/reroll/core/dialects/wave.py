"""Wave's dialect: its annotations, the hash that it writes, and what it may have left behind.

Also the keys that its users asked for and its maintainers settled on, and that it never got: which
sources count (`only-annotated`), and which never do (`ignore`).
"""

import re
from collections.abc import Mapping

from reroll.core.dialects.rows import Dialect, OfValues, Opinion, Options, PolicyInput, Roll
from reroll.core.dialects.wave_hash import config_hash, wanted
from reroll.core.dialects.words import Place, Word
from reroll.core.model.content import Term
from reroll.core.model.key import Key, Problem
from reroll.core.model.marks import Mark
from reroll.core.model.podspec import PodSpec
from reroll.core.observe.snapshot import Change, Snapshot
from reroll.core.policy.patterns import Pattern, items_of
from reroll.core.policy.policy import Claim, Repair
from reroll.core.tables import limits
from reroll.core.tables.annotations import STAMP_ENV
from reroll.core.tables.kinds import Strategy
from reroll.core.tables.source_kinds import SOURCE_KINDS

DOMAIN = "wave.pusher.com/"
UPDATE = DOMAIN + "update-on-config-change"
EXTRA = {"ConfigMap": DOMAIN + "extra-configmaps", "Secret": DOMAIN + "extra-secrets"}
SCHEDULING_DISABLED = DOMAIN + "scheduling-disabled"
HASH = DOMAIN + "config-hash"
ON_SOURCE = DOMAIN + "update-deployment-on-config-change"
IGNORE = DOMAIN + "ignore"
NO_SCHEDULER = DOMAIN + "invalid"
USUAL_SCHEDULER = "default-scheduler"

_IGNORED, _ANNOTATED = "wave ignored", "wave annotated"
_KINDS = frozenset(row.name for row in SOURCE_KINDS)
_NEEDS = {"true": "", "only-annotated": _ANNOTATED}
_HASH_LENGTH = 64
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")


def _words(_: Options) -> tuple[Word, ...]:
    workload, source = (Place.WORKLOAD,), (Place.SOURCE,)
    return (
        Word(UPDATE, workload, 'opt in; exactly `"true"`, or `only-annotated`', '"true"'),
        Word(EXTRA["ConfigMap"], workload, "more ConfigMaps than the template names", "ops/ca,app"),
        Word(EXTRA["Secret"], workload, "more Secrets than the template names", "ops/ca,db"),
        Word(ON_SOURCE, source, "this source rolls workloads that say `only-annotated`", '"true"'),
        Word(IGNORE, source, "this source rolls no workload of this dialect", '"true"'),
        Word(HASH, (Place.MARK,), "the hash that Wave computes for the same objects"),
        Word(SCHEDULING_DISABLED, (Place.RECORD,), "left by Wave; gone once that is undone"),
    )  # fmt: skip


def _read(told: PolicyInput, _: Options) -> Opinion:
    text = told.workload.get(UPDATE)
    needs = _NEEDS.get(text or "")
    repair = _repair(told.workload, waits=needs is not None)
    if text in {"false", "", None}:
        declines = _KINDS if text == "false" else frozenset[str]()
        return Opinion(False if declines else None, declines=declines, repair=repair)
    if needs is None:
        where = f"annotation {UPDATE} on {told.key}"
        word = f'{where}: {text[:80]!r} is neither "true" nor "only-annotated"'
        return Opinion(repair=repair, problems=(Problem(word),))
    named, problems = _extra(told)
    term = Term("wave", unless=frozenset((_IGNORED,)), needs=needs, on_delete=True)
    return Opinion(True, claims=(Claim(term, _KINDS, named),), repair=repair, problems=problems)


def _repair(annotations: Mapping[str, str], *, waits: bool) -> Repair | None:
    """What Wave does to a workload that must not start yet, undone."""
    before = annotations.get(SCHEDULING_DISABLED)
    if before is None:
        return None
    return Repair(
        SCHEDULING_DISABLED, before, "schedulerName", NO_SCHEDULER, before or USUAL_SCHEDULER, waits
    )


def _extra(told: PolicyInput) -> tuple[tuple[Pattern, ...], tuple[Problem, ...]]:
    """The sources that the annotations add, and a problem for each item that is none."""
    named: list[Pattern] = []
    problems: list[Problem] = []
    for kind, annotation in EXTRA.items():
        where = f"annotation {annotation} on {told.key}"
        items, rest = items_of(told.workload.get(annotation), where)
        problems += rest
        for item in items:
            namespace, slash, name = item.rpartition("/")
            if _NAME.fullmatch(name) and bool(slash) == bool(_NAME.fullmatch(namespace)):
                named.append(Pattern(kind, namespace or None, name))
            else:
                word = f'{where}: {item[:80]!r} is not a name; write e.g. "app" or "shop/app"'
                problems.append(Problem(word))
    return tuple(dict.fromkeys(named)), tuple(problems)


def _marks(roll: Roll, options: Options) -> tuple[Mark, ...]:
    """Without the hash, which needs the values themselves."""
    match roll.strategy:
        case Strategy.STAMP if not options.plain:
            return (Mark(HASH, roll.stamp),)
        case Strategy.ENV:
            return (Mark(STAMP_ENV, roll.stamp, container=0),)
    return ()


def _of_values(key: Key, spec: PodSpec | None, annotations: Mapping[str, str]) -> OfValues:
    """The hash; items of a list that Wave would not find are no part of it."""
    extra = [
        Key(kind, namespace or key.namespace, name)
        for kind, annotation in EXTRA.items()
        for item in _first_items(annotations.get(annotation))
        for namespace, _, name in [item.rpartition("/")]
        if _NAME.fullmatch(name) and (not namespace or _NAME.fullmatch(namespace))
    ]  # fmt: skip
    found = wanted(key.namespace, spec, extra)
    sources = tuple(dict.fromkeys(one.source for one in found))
    return OfValues(
        sources,
        marks=lambda contents: (Mark(HASH, config_hash(found, contents)),),
        keyed=lambda stamp: (Mark(HASH, stamp),),
    )


def _first_items(text: str | None) -> list[str]:
    """As Wave splits a list: blanks are a part of its items."""
    return (text or "").split(",", limits.PATTERNS.number)[: limits.PATTERNS.number]


def _acted(seen: Snapshot, changes: tuple[Change, ...], options: Options) -> bool:
    """Whether Wave wrote its hash: the marks are not as we left them, and a change is new to us."""
    is_theirs = len(seen.workload.marks.get(HASH, "")) == _HASH_LENGTH
    home = seen.workload.key.namespace
    keyed = any(options.is_keyed(reference.source, home) for reference in seen.references)
    return is_theirs and (bool(changes) or keyed or not options.plain)


def _source_marks(annotations: Mapping[str, str], _: Options) -> frozenset[str]:
    said = ((IGNORE, _IGNORED), (ON_SOURCE, _ANNOTATED))
    return frozenset(mark for key, mark in said if annotations.get(key) == "true")


WAVE = Dialect(
    name="wave",
    help="the annotations of Wave",
    words=_words,
    read=_read,
    marks=_marks,
    of_values=_of_values,
    acted=_acted,
    ignores=_IGNORED,
    source_marks=_source_marks,
)
