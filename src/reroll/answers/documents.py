"""What answers say to programs: values as JSON has them, and what is so of a workload. Pure.

Commands print these documents with `-o json`, and the dashboard serves them.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from reroll.core.decide.situation import Situation
from reroll.core.model.key import Key
from reroll.core.observe.proof import sources_of


def moment(then: datetime | None) -> str | None:
    """For programs: RFC 3339 in UTC, to the second as the API server tells it."""
    return then.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if then else None


def plain(value: Any) -> Any:
    """A value as JSON has it: keys as objects, times in RFC 3339, enumerations by value."""
    match value:
        case Key():
            return value._asdict()
        case datetime():
            return moment(value)
        case Enum():
            return plain(value.value)
        case Mapping():
            return {name: plain(each) for name, each in value.items()}
        case frozenset():
            return sorted(map(plain, value))
        case list() | tuple():
            return [plain(each) for each in value]
    return value


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
