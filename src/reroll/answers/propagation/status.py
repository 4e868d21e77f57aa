"""What `reroll status` tells: what is so of each workload, and the changes that propagate."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

from reroll.answers.documents import moment, situation_facts
from reroll.answers.propagation.changes import PropagatingChange, change_facts, changes
from reroll.core.decide.situation import Situation
from reroll.engine.circumstances import Judged, judged
from reroll.engine.listing import Listing
from reroll.kube.view import View


class Status(NamedTuple):
    situations: list[Situation]
    """Of those that are opted in."""
    problems: list[str]
    changes: list[PropagatingChange]
    known: list[Judged]
    """Every workload of the listing, opted in or not."""

    def document(self, gaps: Iterable[str]) -> dict[str, Any]:
        """For programs."""
        return {
            "workloads": [facts_of(one) for one in self.situations],
            "problems": [*gaps, *self.problems],
            "changes": [change_facts(one) for one in self.changes],
        }


async def status(view: View, listing: Listing, now: datetime) -> Status:
    """What is so of the workloads of a listing that was filled."""
    decisions = await listing.decisions(listing.workloads)
    known = await judged(view, listing, decisions, now)
    plans = {one.key: one.plan for one in known}
    return Status(
        [one.situation for one in known if one.situation and not one.plan.reason.out],
        sorted({problem.sentence for one in known for problem in one.plan.problems}),
        changes(listing.world.propagation.groups(), plans),
        known,
    )


def facts_of(one: Situation) -> dict[str, Any]:
    record = one.record
    return {
        **one.key._asdict(),
        "reason": one.plan.reason.word,
        "message": one.plan.message,
        "lastRoll": moment(record.rolled) if record else None,
        "recorded": moment(record.at) if record else None,
        **situation_facts(one),
    }
