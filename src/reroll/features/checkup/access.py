"""Asks the API server which rights of the controller are missing.

`questions` are the rows of `core.tables.rights` for one installation. `ask` asks about the account
of the caller (which every account may) or about a service account (which administrators may).
"""

import asyncio
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from reroll.core.tables.kinds import Kind
from reroll.core.tables.rights import Feature, Place, Right, rights
from reroll.core.tables.source_kinds import SourceKind
from reroll.kube import resources, wire
from reroll.kube.aio import gather
from reroll.kube.client import Client
from reroll.kube.decode import decoded

AT_ONCE = 8


class Subject(NamedTuple):
    """A service account."""

    namespace: str
    name: str

    @property
    def user(self) -> str:
        return f"system:serviceaccount:{self.namespace}:{self.name}"

    @property
    def groups(self) -> tuple[str, ...]:
        accounts = "system:serviceaccounts"
        return accounts, f"{accounts}:{self.namespace}", "system:authenticated"


class Question(NamedTuple):
    """May it do this there?"""

    feature: Feature
    verb: str
    group: str
    resource: str
    namespace: str
    """Empty: in all of them, or for what is in none."""
    name: str = ""

    def __str__(self) -> str:
        what = f"{self.resource}.{self.group}" if self.group else self.resource
        name = f" {self.name!r}" if self.name else ""
        return f"{self.verb} {what}{name}"


class _Status(msgspec.Struct):
    allowed: bool = False


class _Review(msgspec.Struct):
    status: _Status


def questions(
    kinds: Iterable[Kind],
    sources: Iterable[SourceKind],
    features: Collection[Feature],
    *,
    home: str,
    namespaces: Sequence[str] = (),
    names: dict[str, str],
) -> list[Question]:
    """What an installation needs, each once. `names`: those of its own objects, by setting."""
    needed: dict[Question, None] = {}
    for row in rights(kinds, sources):
        if row.feature not in features:
            continue
        for place in _places(row, home, namespaces):
            for verb in row.verbs:
                name = row.name.format(**names)
                needed[Question(row.feature, verb, row.group, row.resource, place, name)] = None
    return list(needed)


def _places(row: Right, home: str, namespaces: Sequence[str]) -> Sequence[str]:
    if row.place is Place.OWN:
        return (home,)
    if row.place is Place.CLUSTER:
        return () if namespaces else ("",)
    return namespaces or ("",)


async def ask(
    client: Client, asked: Iterable[Question], subject: Subject | None = None
) -> list[Question]:
    """Of these, what may not be done: by us, or by that service account."""
    slots = asyncio.Semaphore(AT_ONCE)

    async def is_lacking(question: Question) -> bool:
        async with slots:
            raw = await client.send(_review(question, subject))
        return not decoded(raw, _Review).status.allowed

    asked = list(asked)
    # Two features may need the same right: that is asked once.
    distinct = dict.fromkeys(question._replace(feature=Feature.ROLLING) for question in asked)
    answers = dict(zip(distinct, await gather(map(is_lacking, distinct)), strict=True))
    return [row for row in asked if answers[row._replace(feature=Feature.ROLLING)]]


def _review(question: Question, subject: Subject | None) -> wire.Request:
    resource = resources.ACCESS_REVIEWS if subject else resources.SELF_ACCESS_REVIEWS
    plural, _, subresource = question.resource.partition("/")
    spec: dict[str, Any] = {
        "resourceAttributes": {
            "verb": question.verb,
            "group": question.group,
            "resource": plural,
            "subresource": subresource,
            "namespace": question.namespace,
            "name": question.name,
        }
    }
    if subject:
        spec |= {"user": subject.user, "groups": list(subject.groups)}
    body = {"apiVersion": resource.api_version, "kind": resource.kind, "spec": spec}
    return wire.create(resource, None, body)


def by_feature(lacking: Iterable[Question]) -> dict[Feature, list[Question]]:
    by: dict[Feature, list[Question]] = {}
    for question in lacking:
        by.setdefault(question.feature, []).append(question)
    return by


def lacks(questions: Iterable[Question]) -> str:
    """What is missing, in a few words: by place."""
    by_place: dict[str, list[str]] = {}
    for question in questions:
        by_place.setdefault(question.namespace, []).append(str(question))
    return "; ".join(
        f"{', '.join(rights)} {_where(place)}" for place, rights in sorted(by_place.items())
    )


def _where(namespace: str) -> str:
    return f"in namespace {namespace}" if namespace else "in all namespaces"
