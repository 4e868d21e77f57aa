"""Which controllers answer to the same annotations here, and what they leave behind.

The facts that several answers judge; who gathers them is `answers.migration`. A controller of
Reroll is known by the image or the command line of a container, and by the Lease that its leader
renews.
"""

from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime, timedelta
from typing import NamedTuple, TypeVar

import msgspec

from reroll.core.model.key import Key
from reroll.core.model.metadata import Metadata
from reroll.core.model.podspec import given
from reroll.core.policy.policy import Policy
from reroll.kube.view import ListedWorkload, View
from reroll.settings.table import Settings

OURS = "Reroll"


class Variable(msgspec.Struct, gc=False):
    name: str
    value: str | None = None


class ControllerContainer(msgspec.Struct, gc=False):
    """What of a container tells whose controller it runs, and how that is configured."""

    name: str = ""
    image: str = ""
    command: list[str] | None = None
    args: list[str] | None = None
    env: list[Variable] | None = None

    @property
    def words(self) -> list[str]:
        return [*given(self.command), *given(self.args)]

    @property
    def repository(self) -> str:
        """The image without its tag and digest."""
        path, _, last = self.image.partition("@")[0].rpartition("/")
        return f"{path}/{last.partition(':')[0]}".strip("/")

    @property
    def is_ours(self) -> bool:
        """Whether it runs the controller of Reroll."""
        words = self.words
        if self.repository.rpartition("/")[2] == "reroll" and "run" in words:
            return True
        return [word.rpartition("/")[2] for word in words[:2]] == ["reroll", "run"]


class _Manager(msgspec.Struct, gc=False):
    manager: str = ""


class _LeaseMetadata(Metadata, gc=False, rename="camel"):
    managed_fields: list[_Manager] | None = None


class _LeaseSpec(msgspec.Struct, gc=False, rename="camel"):
    holder_identity: str | None = None
    renew_time: datetime | None = None
    lease_duration_seconds: int | None = None


class Lease(msgspec.Struct, gc=False):
    metadata: _LeaseMetadata
    spec: _LeaseSpec = msgspec.field(default_factory=_LeaseSpec)

    def is_held(self, now: datetime) -> bool:
        spec = self.spec
        if not spec.holder_identity or spec.renew_time is None:
            return False
        return now < spec.renew_time + timedelta(seconds=spec.lease_duration_seconds or 15)


class Controller(msgspec.Struct, frozen=True, gc=False):
    """One controller in the cluster: Reloader, Wave or Reroll."""

    title: str
    key: Key
    is_active: bool


AnyController = TypeVar("AnyController", bound=Controller)


def rivals(controllers: Iterable[AnyController]) -> tuple[AnyController, ...]:
    """Controllers that are active beside Reroll, which is active too."""
    active = [one for one in controllers if one.is_active]
    if not any(one.title == OURS for one in active):
        return ()
    return tuple(one for one in active if one.title != OURS)


class Stuck(NamedTuple):
    """A workload that waits for a controller that may not come."""

    key: Key
    why: str


class Survey(NamedTuple):
    """The workloads and the controllers of a cluster, as far as several answers need them."""

    workloads: list[ListedWorkload]
    controllers: tuple[Controller, ...]
    stuck: tuple[Stuck, ...]
    opted_in: int
    """How many workloads are, or have annotations that cannot be used."""
    problems: tuple[str, ...]
    """Annotations that cannot be used."""
    paced: tuple[tuple[Key, Policy], ...] = ()
    """The workloads that are opted in and ask for more than all at once, or have windows."""
    unread: tuple[tuple[str, int], ...] = ()
    """Tools whose annotations this installation does not read, and how many workloads have them."""
    approved: tuple[tuple[Key, Policy], ...] = ()
    """The workloads that are opted in and roll only with what somebody approved."""


Surveyor = Callable[[View, Settings], Awaitable[Survey]]
"""The settings are those of the controller: only what it looks at is surveyed."""
