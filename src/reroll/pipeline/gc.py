"""Deletes content-named configs that nothing uses.

One that is in use is never deleted; then one that is not proved to be content-named stays, then the
newest of each name, then one that is young: it may have been applied a moment before the workload
that will use it. If something could not be listed, nothing is deleted.
"""

import asyncio
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

import msgspec

from reroll.core.model.key import Key
from reroll.core.revisions.content_names import Named, claimed, proved
from reroll.kube import aio, api, resources, wire
from reroll.kube.errors import ApiError, Conflict, NotFound
from reroll.kube.view import View
from reroll.pipeline import usage
from reroll.pipeline.usage import Document, Place

READS = 16


class Verdict(StrEnum):
    """What becomes of a config, and why."""

    IN_USE = "in use"
    UNPROVED = "not proved"
    KEPT = "kept"
    YOUNG = "young"
    UNUSED = "unused"


class Candidate(NamedTuple):
    """A config that may be content-named."""

    key: Key
    uid: str
    version: str
    claim: Named
    created: datetime

    @property
    def place(self) -> Place:
        return Place(self.key.namespace, self.key.name)


class Decision(NamedTuple):
    candidate: Candidate
    verdict: Verdict
    user: str = ""
    """Something that uses it."""


class Outcome(NamedTuple):
    """What became of a config."""

    decision: Decision
    result: str = ""
    """Of a deletion."""
    problem: str = ""


class Rules(NamedTuple):
    """What may be deleted, and whether it is."""

    keep: int = 1
    """Of the unused configs of each name, the newest."""
    min_age: timedelta = timedelta(hours=1)
    selector: str | None = None
    dry_run: bool = False


class Collected(NamedTuple):
    outcomes: list[Outcome]
    gaps: list[str]
    """What could not be read."""
    refused: bool
    """Nothing is deleted, because what could not be seen may use it."""
    blind: bool
    """Something that may use configs could not be listed."""


async def collect(
    view: View, users: Iterable[wire.Resource], rules: Rules, now: datetime
) -> Collected:
    """Delete the unused configs by these rules, if all `users` could be looked at."""
    users = tuple(users)
    candidates = await _candidates(view, rules.selector)
    unseen, view.gaps = view.gaps, []
    in_use = await _in_use(view, users, candidates)
    blind, view.gaps = view.gaps, []
    proofs = await _proofs(view, [one for one in candidates if one.place not in in_use])
    gaps = [*unseen, *blind, *view.gaps]
    decisions = decide(candidates, in_use, proofs, keep=rules.keep, min_age=rules.min_age, now=now)
    doomed = any(one.verdict is Verdict.UNUSED for one in decisions)
    if doomed and not blind and not rules.dry_run:
        outcomes = await _delete(view, users, decisions)
    else:
        outcomes = [Outcome(one) for one in decisions]
    return Collected(outcomes, gaps, refused=doomed and bool(blind), blind=bool(blind))


def decide(
    candidates: Iterable[Candidate],
    in_use: Mapping[Place, str],
    proofs: Mapping[Key, bool],
    *,
    keep: int,
    min_age: timedelta,
    now: datetime,
) -> list[Decision]:
    """What becomes of each, the newest first of each name; `proofs` holds those not in use."""
    kept: dict[tuple[str, str, Named], int] = {}
    decisions = []
    for one in sorted(candidates, key=_newest_first):
        if user := in_use.get(one.place):
            decisions.append(Decision(one, Verdict.IN_USE, user))
            continue
        if not proofs.get(one.key, False):
            decisions.append(Decision(one, Verdict.UNPROVED))
            continue
        group = (one.key.kind, one.key.namespace, one.claim)
        kept[group] = kept.get(group, 0) + 1
        if kept[group] <= keep:
            verdict = Verdict.KEPT
        else:
            verdict = Verdict.YOUNG if now - one.created < min_age else Verdict.UNUSED
        decisions.append(Decision(one, verdict))
    return decisions


def _newest_first(one: Candidate) -> tuple[str, str, str, float, str]:
    kind, namespace, name = one.key
    return namespace, kind, one.claim.plain, -one.created.timestamp(), name


async def _candidates(view: View, selector: str | None) -> list[Candidate]:
    """All that may be content-named, by labels, annotations and names alone."""
    candidates = []
    for key, stub in (await usage.configs(view, selector)).items():
        meta = stub.metadata
        claim = claimed(meta.name, meta.labels or {}, meta.annotations or {})
        if claim and meta.creation_timestamp and not meta.deletion_timestamp:
            version = meta.resource_version
            candidates.append(Candidate(key, meta.uid, version, claim, meta.creation_timestamp))
    return candidates


async def _in_use(
    view: View, users: Iterable[wire.Resource], candidates: Iterable[Candidate]
) -> dict[Place, str]:
    """The candidates that something names; what could not be listed is a gap."""
    names = usage.by_namespace(one.place for one in candidates)
    in_use: dict[Place, str] = {}
    for resource in users if names else ():
        async for documents in view.pages(resource, Document):
            in_use |= usage.users(resource.kind, documents, names)
    return in_use


async def _proofs(view: View, candidates: list[Candidate]) -> dict[Key, bool]:
    """Whether each is what it claims to be. Only what nothing uses is read, and dropped at once."""
    slots = asyncio.Semaphore(READS)

    async def proof(one: Candidate) -> bool:
        kind, namespace, name = one.key
        request = wire.get(resources.CONFIGS[kind], namespace, name)
        try:
            async with slots:
                return proved(one.claim, msgspec.json.decode(await view.client.send(request)))
        except NotFound:
            return False
        except ApiError as error:
            view.gaps.append(str(error))
            return False

    answers = await aio.gather(map(proof, candidates))
    return {one.key: answer for one, answer in zip(candidates, answers, strict=True)}


async def _delete(
    view: View, users: Iterable[wire.Resource], decisions: list[Decision]
) -> list[Outcome]:
    """Delete what is unused, if a second look finds it unused too."""
    doomed = [one.candidate for one in decisions if one.verdict is Verdict.UNUSED]
    again = await _in_use(view, users, doomed)
    if view.gaps:
        raise ApiError(f"nothing is deleted: {'; '.join(view.gaps)}")
    outcomes = []
    for decision in decisions:
        if decision.verdict is not Verdict.UNUSED:
            outcomes.append(Outcome(decision))
        elif user := again.get(decision.candidate.place):
            outcomes.append(Outcome(Decision(decision.candidate, Verdict.IN_USE, user)))
        else:
            outcomes.append(await _delete_one(view, decision))
    return outcomes


async def _delete_one(view: View, decision: Decision) -> Outcome:
    one = decision.candidate
    kind, namespace, name = one.key
    guards: wire.Deletion = {"uid": one.uid, "resource_version": one.version}
    try:
        there = await api.delete(view.client, resources.CONFIGS[kind], namespace, name, **guards)
    except Conflict:
        return Outcome(decision, "changed just now, left alone")
    except ApiError as error:
        return Outcome(decision, "failed", str(error))
    return Outcome(decision, "deleted" if there else "gone already")
