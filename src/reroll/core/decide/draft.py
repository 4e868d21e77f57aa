"""A draft: what has to be written, if it may be written now, and what kind of act that is."""

from enum import Enum
from typing import NamedTuple

from reroll.core.decide.plan import Plan


class Act(Enum):
    """What kind of act a draft is, as far as permissions go."""

    NOTHING = "nothing, or something that waits for nothing"
    RECORD = "only the record is written"
    RESTORE = "a record that another writer removed is put back"
    REPAIR = "what another tool did is undone"
    CONTINUE = "an earlier roll goes on"
    RECORD_IDLE = "a change is recorded for pods that start later"
    UNPIN = "the template loses its pins"
    PIN = "the template gets pins that it lacks"
    ROLL = "pods are replaced"
    RELEASE = "pods are replaced because a person released them"
    BACK = "pods are taken back to what was healthy"


class Draft(NamedTuple):
    act: Act
    plan: Plan
