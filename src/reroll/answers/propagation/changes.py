"""Changes that are under way: for each, its waves, and where each workload stands. Pure."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from reroll.answers.documents import moment
from reroll.core.decide.plan import Plan
from reroll.core.model.key import Key
from reroll.core.propagation.group import Group
from reroll.core.propagation.member import Stage
from reroll.core.tables.reasons import Reason

OVER = frozenset((Stage.HEALTHY, Stage.UNJUDGED, Stage.SETTLED))
"""Where nothing more happens for a change."""
_WORDS = {Stage.BEHIND: "held", Stage.BLOCKED: "held"}
_BACK = frozenset((Reason.ROLLED_BACK, Reason.ROLLBACK_FAILED))


class Standing(NamedTuple):
    """One workload of a change."""

    key: Key
    stage: str
    """In the words of people: behind is `held` if something holds it, else `next`."""
    wave: int
    reason: str = ""
    message: str = ""
    until: datetime | None = None


class PropagatingChange(NamedTuple):
    source: Key
    workloads: tuple[Standing, ...]
    """By wave, then by name; without those that have the content and were never asked about it."""
    is_stopped: bool = False
    """Who is without it does not get it; also once those that had it have gone back."""

    @property
    def counts(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for one in self.workloads:
            found[one.stage] = found.get(one.stage, 0) + 1
        return found


def changes(groups: Iterable[Group], plans: Mapping[Key, Plan]) -> list[PropagatingChange]:
    """Those of which something is still to happen, or went wrong."""
    found = []
    for group in sorted(groups, key=lambda one: one.source):
        stages = {member.stage for member in group.members.values()}
        if stages <= OVER:
            continue
        rows = standings(group, plans)
        workloads = tuple(one for one in rows if one.stage != Stage.SETTLED.value)
        found.append(PropagatingChange(group.source, workloads, group.is_stopped))
    return found


def standings(group: Group, plans: Mapping[Key, Plan]) -> list[Standing]:
    """Where each that uses a source stands with what it holds: by wave, then by name."""
    rows = (_standing(group, key, plans.get(key)) for key in group.members)
    return sorted(rows, key=lambda one: (one.wave, one.key))


def _standing(group: Group, key: Key, plan: Plan | None) -> Standing:
    member = group.members[key]
    if plan is None:
        stage = _WORDS.get(member.stage, member.stage.value)
        return Standing(key, stage, member.wave, "", member.why)
    stage = member.stage.value
    if member.stage in _WORDS:
        stage = "held" if plan.reason.held else "next"
    elif plan.reason in _BACK and not plan.goes_back:
        stage = "rolled back" if plan.reason is Reason.ROLLED_BACK else "rollback failed"
    is_told = plan.reason is not Reason.UP_TO_DATE and member.stage is not Stage.HEALTHY
    message = plan.message.removeprefix(plan.reason.sentence).lstrip(":; ,")
    return Standing(
        key,
        stage,
        member.wave,
        plan.reason.word if is_told else "",
        (message or plan.message) if is_told else "",
        plan.look_at if is_told else None,
    )


def change_facts(one: PropagatingChange) -> dict[str, Any]:
    return {
        "source": one.source._asdict(),
        "stopped": one.is_stopped,
        "counts": one.counts,
        "workloads": [
            {
                **each.key._asdict(),
                "stage": each.stage,
                "wave": each.wave,
                "reason": each.reason,
                "message": each.message,
                "until": moment(each.until),
            }
            for each in one.workloads
        ],
    }
