"""The kinds of writes that take turns, and how many turns each has in a second.

A table, so that everything that writes goes through one pacer. A Job that is started or replaced is
a roll: it makes as many pods as one.
"""

from enum import Enum

from reroll.controller.pace import Pacer, Rate
from reroll.core.decide.actions import Evict, Reload, StayOn
from reroll.core.decide.plan import Plan
from reroll.core.model.key import Key

RECORDS_FOR_A_ROLL = 5
"""A record is one PATCH; a roll is that, and some four writes of Kubernetes because of it."""


class Write(Enum):
    ROLL = "pods are replaced, or a Job is started"
    RECORD = "something is written, and no pod is replaced for it"
    PODS = "one step of an eviction or a reload: pods are listed, then evicted or asked"


Paces = Pacer[Key, Write]
OTHERS = {
    Write.ROLL: (Write.RECORD,),
    Write.RECORD: (Write.ROLL,),
    None: (Write.ROLL, Write.RECORD),
}
"""Which turns a workload needs no more when it needs this one."""


def rates(rate: float, burst: int) -> dict[Write, Rate]:
    """As the settings have it for rolls, and what follows from that for everything else."""
    return {
        Write.ROLL: Rate(rate, burst),
        Write.RECORD: Rate(RECORDS_FOR_A_ROLL * rate, RECORDS_FOR_A_ROLL * burst),
        # A step takes about four requests, and comes again every second while pods are replaced:
        # there is nothing to be gained from a burst of them.
        Write.PODS: Rate(rate, max(1, int(rate))),
    }


def write_of(plan: Plan) -> Write | None:
    """What has to have its turn before a plan is carried out; `None`: nothing, or not yet."""
    if not plan.actions or is_slow(plan):
        return None
    makes_pods = plan.strategy is not None or plan.has(StayOn)
    return Write.ROLL if makes_pods else Write.RECORD


def is_slow(plan: Plan) -> bool:
    """Whether pods have to be waited for before anything is written."""
    return bool(plan.actions) and isinstance(plan.actions[0], Evict | Reload)
