"""What is known of the pods of one workload, and how its rollout goes by them. Pure."""

from datetime import datetime
from enum import StrEnum

import msgspec

from reroll.core.observe.health import Health, State
from reroll.core.observe.staleness import Finding
from reroll.core.tables.kinds import Kind

MOST_NAMED = 3


class PodFacts(msgspec.Struct, frozen=True, gc=False):
    """One pod that has not ended and is not on its way out."""

    name: str
    created: datetime | None = None
    runs: bool = True
    """One of its containers runs now."""
    is_ready: bool = True
    findings: tuple[Finding, ...] = ()
    trouble: str = ""
    """Why a container does not start: the kubelet's word and the exit code."""


class Progress(StrEnum):
    """How the last rollout went, in a word for lists."""

    NONE = "-"
    """Its kind has no rollouts: a CronJob, a Job."""
    COMPLETE = "complete"
    PROGRESSING = "progressing"
    FAILING = "failing"


class PodsHave(StrEnum):
    """What the pods that run have of the current configuration."""

    CURRENT = "current"
    """Proved by the record of a roll that replaced them."""
    YOUNGER = "younger"
    """They started after what they use was last written."""
    RECORDED = "as recorded"
    """Of a recorded roll; a source was written since, and holds what it held then."""
    OLDER = "older"
    REPLACING = "being replaced"
    NONE = "no pods"
    UNKNOWN = "unknown"


class Rollout(msgspec.Struct, frozen=True, gc=False):
    progress: Progress = Progress.NONE
    message: str = ""
    """What it waits for, or what fails and why."""

    @property
    def is_over(self) -> bool:
        return self.progress in {Progress.NONE, Progress.COMPLETE}

    @property
    def sentence(self) -> str:
        return ": ".join(filter(None, (self.progress.value, self.message)))


def rollout(
    kind: Kind, health: Health | None, pods: tuple[PodFacts, ...], since: datetime | None
) -> Rollout:
    """The rollout by the status of the workload, and by its pods that were made `since`."""
    if health is None or not (kind.counts or kind.well or kind.observes):
        return Rollout()
    if health.state is State.DONE:
        return Rollout(Progress.COMPLETE)
    second = since.replace(microsecond=0) if since else None
    sick = [
        f"pod {pod.name} {pod.trouble}"
        for pod in pods
        if pod.trouble and not (second and pod.created and pod.created < second)
    ]
    more = [f"{len(sick) - MOST_NAMED} more"] if len(sick) > MOST_NAMED else []
    message = "; ".join(filter(None, (", ".join([*sick[:MOST_NAMED], *more]), health.message)))
    is_failing = bool(sick) or health.state is State.FAILED
    return Rollout(Progress.FAILING if is_failing else Progress.PROGRESSING, message)
