"""Which content-named configs may be deleted.

Pure. The order of the questions is the order of the answers that people see: one that is in use is
never deleted, then one that is not proved to be content-named, then the newest of each name, then
one that is young: it may have been applied a moment before the workload that will use it.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from reroll.core.model.key import Key
from reroll.core.revisions.content_names import Named
from reroll.pipeline.usage import Place


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
