"""A pod as its rollout is judged by it: what the kubelet and the scheduler say of it.

Fields that are not named here are skipped while decoding. So the last output of a container, which
the kubelet copies to the message of an ended one, is never read at all.
"""

from datetime import datetime

import msgspec

from reroll.core.model.metadata import Metadata
from reroll.core.model.podspec import given


class Waiting(msgspec.Struct, gc=False):
    reason: str = ""
    message: str = ""
    """The kubelet's own words."""


class Running(msgspec.Struct, gc=False, rename="camel"):
    started_at: datetime | None = None


class Ended(msgspec.Struct, gc=False, rename="camel"):
    """An end of a container. It has no message, which would be output of the container."""

    reason: str = ""
    exit_code: int | None = None
    started_at: datetime | None = None


class States(msgspec.Struct, gc=False):
    """One of them is there."""

    waiting: Waiting | None = None
    running: Running | None = None
    terminated: Ended | None = None


_STARTING = frozenset(("", "ContainerCreating", "PodInitializing", "Completed"))


class Container(msgspec.Struct, gc=False, rename="camel"):
    name: str
    state: States = msgspec.field(default_factory=States)
    last_state: States = msgspec.field(default_factory=States)
    ready: bool = False
    restart_count: int = 0

    @property
    def last_end(self) -> Ended | None:
        return self.state.terminated or self.last_state.terminated

    @property
    def trouble(self) -> str:
        """Why it does not start, in the kubelet's word, with its exit code; nothing if it may.

        One that crashes again and again runs for a moment in between.
        """
        stage, ended = self.state.waiting or self.state.terminated, self.last_end
        code = ended.exit_code if ended else None
        if stage is None:
            return f"restarted (exit {code})" if code and not self.ready else ""
        if stage.reason in _STARTING:
            return ""
        return stage.reason if code is None else f"{stage.reason} (exit {code})"


class PodCondition(msgspec.Struct, gc=False):
    type: str
    status: str = ""
    reason: str = ""


class PodStatus(msgspec.Struct, gc=False, rename="camel"):
    phase: str = ""
    reason: str = ""
    """Why the pod as a whole ended."""
    address: str = msgspec.field(name="podIP", default="")
    conditions: list[PodCondition] | None = None
    container_statuses: list[Container] | None = None
    init_container_statuses: list[Container] | None = None


class PodState(msgspec.Struct, gc=False):
    metadata: Metadata
    status: PodStatus = msgspec.field(default_factory=PodStatus)

    def condition(self, name: str) -> PodCondition | None:
        return next((one for one in given(self.status.conditions) if one.type == name), None)

    def has(self, condition: str) -> bool:
        one = self.condition(condition)
        return one is not None and one.status == "True"

    @property
    def is_ready(self) -> bool:
        return self.has("Ready")

    @property
    def is_leaving(self) -> bool:
        return self.metadata.deletion_timestamp is not None

    def is_since(self, moment: datetime) -> bool:
        """Whether it was made at this moment or later; Kubernetes tells whole seconds."""
        created = self.metadata.creation_timestamp
        return created is not None and created >= moment.replace(microsecond=0)
