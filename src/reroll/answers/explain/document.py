"""All that there is to tell of one workload, for programs. Pure."""

from datetime import datetime
from typing import Any, NamedTuple

from reroll.answers.documents import moment, situation_facts
from reroll.answers.explain.explain import Explanation, Source
from reroll.answers.explain.provenance import Provenance
from reroll.answers.explain.standing import standings
from reroll.core.decide.situation import Situation
from reroll.core.observe.snapshot import Snapshot
from reroll.core.observe.workload import Workload


class Explained(NamedTuple):
    """All there is to show."""

    snapshot: Snapshot
    explanation: Explanation
    situation: Situation
    decided: list[Provenance]
    now: datetime


def facts(explained: Explained) -> dict[str, Any]:
    seen, found, record = explained.snapshot, explained.explanation, explained.explanation.record
    return {
        "workload": seen.workload.key._asdict(),
        "enabled": seen.policy.enabled,
        "dialects": list(seen.policy.by) if seen.policy.enabled else [],
        "decided": [one._asdict() for one in explained.decided],
        "record": record
        and {
            "at": moment(record.at),
            "why": record.why,
            "rolled": moment(record.rolled),
            "by": record.by,
            "keys": record.keys,
            "heldSince": moment(record.held),
        },
        "pins": [{"source": name, "copy": copy} for name, copy in copies(seen.workload)],
        "reason": found.plan.reason.word,
        "message": found.plan.message,
        "strategy": found.plan.strategy and found.plan.strategy.value,
        "ifOptedIn": found.if_in
        and {"reason": found.if_in.reason.word, "message": found.if_in.message},
        **situation_facts(explained.situation),
        "sources": [_source(one) for one in found.sources],
        "changes": [one.facts() for one in standings(seen)],
        "gates": [one._asdict() for one in found.answers],
        "warnings": [problem.sentence for problem in found.plan.problems],
    }


def _source(one: Source) -> dict[str, Any]:
    reference = one.reference
    return {
        **one.key._asdict(),
        "uses": [
            {
                "how": use.how,
                "keys": None if use.keys is None else sorted(use.keys),
                "optional": use.optional,
                "live": use.live,
            }
            for use in one.uses
        ],
        "counts": reference is not None,
        "named": bool(reference and reference.added),
        "required": bool(reference and reference.required),
        "content": one.state.value,
        "why": one.why,
        "changed": moment(one.last.at) if one.last else None,
        "changedBy": one.last.by if one.last else None,
    }


def copies(workload: Workload) -> list[tuple[str, str]]:
    return [(f"{kind} {name}", copy) for (kind, name), copy in sorted(workload.pins.items())]
