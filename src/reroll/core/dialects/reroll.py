"""The annotations of this product: of a workload, then of its Namespace, then the settings."""

# ruff: noqa: E501  the table of words reads best one row a line

from collections.abc import Iterator, Mapping
from typing import Any

from reroll.core.dialects.annotations import (
    ANNOTATIONS,
    SOURCE_ANNOTATIONS,
    SOURCE_LISTS,
    boolean,
    parsed,
    with_values,
)
from reroll.core.dialects.words import Place, Word
from reroll.core.model.content import allows
from reroll.core.model.key import Key, Problem
from reroll.core.policy.patterns import items_of, parse_patterns
from reroll.core.policy.policy import Policy
from reroll.core.revisions.content_names import CONTENT_OF, COPY_OF
from reroll.core.revisions.pins import PINS
from reroll.core.tables.annotations import (
    ALLOW_FROM,
    DELETING,
    DOMAIN,
    IGNORE,
    INJECTION_READERS,
    INJECTION_WRITERS,
    NAMES,
    STAMP,
    STAMP_ENV,
    STATE,
)
from reroll.core.tables.catalog import TABLES, Tables
from reroll.core.tables.kinds import INJECTION


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
        for key, told in parsed(ANNOTATIONS, annotations, values):
            problems.append(Problem(f"annotation {key} on {place}: {told}"))
        for name, field in SOURCE_LISTS.items():
            if (text := annotations.get(DOMAIN + name)) is not None:
                found, bad = parse_patterns(text, f"annotation {DOMAIN}{name} on {place}", tables)
                values[field] = found
                problems += bad
        for key, told in unknown(annotations):
            problems.append(Problem(f"annotation {key} on {place} {told}"))
    if not values and not problems:
        return default
    return with_values(default, {**values, "problems": tuple(problems)})


def unknown(
    annotations: Mapping[str, str], place: Place = Place.WORKLOAD
) -> Iterator[tuple[str, str]]:
    """Keys of our domain that mean nothing, with a hint: most of them are misspelt."""
    found = sorted(filter(is_unknown, annotations))
    if not found:
        return
    from difflib import get_close_matches  # Only who misspells something waits for it.

    here = sorted({word.key for word in WORDS if place in word.places})
    for key in found:
        near = get_close_matches(key, here, 1, 0.8)
        hint = f"; did you mean {near[0]}?" if near else "; see the reference of annotations"
        yield key[:80], f"means nothing{hint}"


def is_unknown(key: str) -> bool:
    return key.startswith(DOMAIN) and key not in _KNOWN


def ignores(annotations: Mapping[str, str]) -> bool:
    """Whether a source wants to roll nobody; a `ValueError` says what is wrong with how it says so."""
    text = annotations.get(IGNORE)
    return text is not None and boolean(text)


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


_BOTH = (Place.WORKLOAD, Place.NAMESPACE)
WORDS = (
    *(Word(row.key, _BOTH, row.help, row.example) for row in ANNOTATIONS),
    Word(
        DOMAIN + "sources",
        _BOTH,
        "more sources than the pod template names: kind, namespace if it is another one, name or glob, key if only one matters",
        "configmap/app, secret/db#password",
    ),
    Word(IGNORE, _BOTH, "sources or keys that must not roll it", "secret/db#comment"),
    Word(IGNORE, (Place.SOURCE,), "this source rolls nothing", '"true"'),
    *(Word(row.key, (Place.SOURCE,), row.help, row.example) for row in SOURCE_ANNOTATIONS),
    Word(
        ALLOW_FROM,
        (Place.SOURCE,),
        "the namespaces whose workloads may name this source; globs",
        "team-a, team-b",
    ),
    Word(
        NAMES,
        (Place.SOURCE,),
        "`reroll render`: whether it gets a content name, whatever `--names` and its uses say: `always` or `never`",
        "never",
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


_KNOWN = frozenset(word.key for word in WORDS) | {CONTENT_OF, COPY_OF}
