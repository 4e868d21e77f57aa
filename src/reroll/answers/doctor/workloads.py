"""What is so of the workloads that are opted in, summed up. Pure."""

import textwrap
from collections.abc import Collection, Iterator
from typing import NamedTuple

from reroll.answers.doctor.findings import Check, Finding
from reroll.core.decide.situation import Concern, Situation
from reroll.core.model.names import counted, several
from reroll.core.observe.proof import sources_of

WORKLOADS = Check("workloads")
LONGEST = 160
"""Characters of what is said of one workload; `reroll explain` says the rest."""


class _Row(NamedTuple):
    sentence: str
    todo: str


_ROWS = {
    Concern.FAILING: _Row("the rollout fails", "see `reroll explain`"),
    Concern.DECLINED: _Row(
        "it was taken back, and its sources still hold what it was taken back from",
        "change them, or put them back",
    ),
    Concern.BLOCKED: _Row("blocked", "see `reroll explain`"),
    Concern.OLDER: _Row(
        "pods are older than the configuration that they use", "`reroll sync --stale` rolls them"
    ),
}
"""What is a warning; what somebody asked for is a note."""


def judge_workloads(known: Collection[Situation]) -> Iterator[Finding]:
    """A finding for each concern that some of them have."""
    by_concern: dict[Concern, list[Situation]] = {}
    for one in known:
        by_concern.setdefault(one.concern, []).append(one)
    for concern, row in _ROWS.items():
        if found := by_concern.get(concern):
            yield WORKLOADS.warning(f"{row.sentence}: {_names(found)}", row.todo)
    if held := by_concern.get(Concern.HELD):
        yield WORKLOADS.note(f"held on request: {_names(held)}")
    if well := by_concern.get(Concern.NONE):
        yield WORKLOADS.ok(f"{counted(len(well), 'workload')} opted in, and nothing is wrong")


def _names(found: Collection[Situation]) -> str:
    return several([f"{one.key} ({_why(one)})" for one in found])


def _why(one: Situation) -> str:
    concern, obstacle = one.concern, one.obstacle
    why = one.plan.reason.word
    if concern is Concern.FAILING:
        why = one.rollout.message or why
    elif concern is Concern.OLDER:
        why = ", ".join(map(str, sources_of(one.older)))
    elif concern in {Concern.BLOCKED, Concern.HELD} and obstacle:
        why = f"{obstacle.reason.word}: {obstacle.detail}"
    return textwrap.shorten(why, LONGEST, placeholder=" …")
