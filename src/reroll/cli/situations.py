"""What is so of a workload, as commands print it for programs."""

from typing import Any

from reroll.cli.times import moment
from reroll.core.decide.situation import Situation
from reroll.core.observe.proof import sources_of


def situation_facts(one: Situation) -> dict[str, Any]:
    """The obstacle, the rollout, the pods, and what is declined."""
    obstacle = one.obstacle
    return {
        "obstacle": obstacle
        and {
            "reason": obstacle.reason.word,
            "message": obstacle.message,
            "since": moment(obstacle.at),
        },
        "rollout": {"state": one.rollout.progress.value, "message": one.rollout.message},
        "pods": {
            "running": one.running,
            "configuration": one.have.value,
            "olderThan": [source._asdict() for source in sources_of(one.older)],
        },
        "declined": list(one.declined),
    }
