"""What a row of the table of settings is made of."""

from datetime import timedelta
from typing import Any, Literal, NamedTuple, get_args, get_origin

from reroll.core.model.pace import Rolls
from reroll.core.policy.durations import format_duration
from reroll.core.policy.pace import format_rolls

ENVIRONMENT_PREFIX = "REROLL_"


class About(NamedTuple):
    group: str
    help: str
    example: str = ""
    least: timedelta = timedelta()


SECOND = timedelta(seconds=1)
SCOPE = "What it looks at"
ROLL = "How it rolls"
PACE = "How a change propagates"
CLUSTER = "The cluster"
RUN = "Running it"
GROUPS: tuple[str, ...] = (SCOPE, ROLL, PACE, CLUSTER, RUN)


class Setting(NamedTuple):
    """One row of the table that `Settings` is."""

    name: str
    type: Any
    default: Any
    about: About

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")

    @property
    def variable(self) -> str:
        return ENVIRONMENT_PREFIX + self.name.upper()

    @property
    def key(self) -> str:
        """Its name in a config file."""
        return self.name.replace("_", "-")

    @property
    def choices(self) -> tuple[str, ...]:
        return get_args(self.type) if get_origin(self.type) is Literal else ()

    @property
    def shown_default(self) -> str:
        match self.default:
            case timedelta():
                return format_duration(self.default)
            case bool():
                return str(self.default).lower()
            case tuple():
                return ",".join(self.default)
            case Rolls():
                return format_rolls(self.default)
            case None:
                return ""
        return str(self.default)
