"""Which strategy carries out which action: those that take more than a patch.

A strategy is loaded when the first workload needs it: most clusters use few of them, and the
memory of the others would be there for nothing.
"""

from collections.abc import Awaitable, Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from reroll.clock import Clock
from reroll.core.decide.actions import (
    Action,
    AddValueMarks,
    Evict,
    GoBack,
    MakeCanary,
    MakeCopies,
    NamePins,
    NoteCanary,
    RecreateJob,
    Reload,
    RemoveCanary,
    Repair,
    StartJob,
    StayOn,
    Unstick,
)
from reroll.core.decide.plan import Plan
from reroll.core.model.key import Key
from reroll.engine.observer import Observer
from reroll.engine.outcome import Step, Turn
from reroll.kube.client import Client

if TYPE_CHECKING:
    from reroll.engine.strategies.canary import CanaryMaker
    from reroll.engine.strategies.copies import CopyMaker
    from reroll.engine.strategies.go_back import Rollback
    from reroll.engine.strategies.jobs import Jobs
    from reroll.engine.strategies.pin_names import PinNames
    from reroll.engine.strategies.pods import Pods
    from reroll.engine.strategies.repair import Repairs
    from reroll.engine.strategies.stuck_pods import StuckPods
    from reroll.engine.strategies.value_marks import ValueMarks

Function = Callable[[Turn, Any], Awaitable[Step]]
SLOW = (Evict, Reload)
"""What waits for pods."""


class Strategies:
    """`stays`: this process goes on after a canary is made. `may_recreate`: see `Jobs`."""

    def __init__(
        self, client: Client, clock: Clock, observer: Observer, *, stays: bool, may_recreate: bool
    ) -> None:
        self._client, self._clock = client, clock
        self._world, self._reader = observer.world, observer.reader
        self._stays, self.may_recreate = stays, may_recreate
        self._functions: dict[type[Action], Callable[[], Function]] = {
            MakeCopies: lambda: self._copies.make,
            NamePins: lambda: self._pin_names.find,
            AddValueMarks: lambda: self._value_marks.add,
            StartJob: lambda: self.jobs.start,
            RecreateJob: lambda: self.jobs.recreate,
            StayOn: lambda: self._canaries.stay,
            MakeCanary: lambda: self._canaries.make,
            RemoveCanary: lambda: self._canaries.drop,
            NoteCanary: lambda: self._canaries.note,
            Repair: lambda: self._repairs.step,
            GoBack: lambda: self._rollback.step,
            Unstick: lambda: self._stuck_pods.step,
            Evict: lambda: self._pods.evict,
            Reload: lambda: self._pods.reload,
        }

    async def carry_out(self, turn: Turn, action: Action) -> Step:
        return await self._functions[type(action)]()(turn, action)

    def forget(self, key: Key) -> None:
        """A workload needs nothing slow any more."""
        self._pods.forget(key)

    async def tidy(self, key: Key, plan: Plan) -> None:
        """Remove the canary of a workload that does not wait for it, or is not managed."""
        if self._world.canaries.of(key):
            await self._canaries.tidy(key, plan)

    @cached_property
    def jobs(self) -> "Jobs":
        from reroll.engine.strategies.jobs import Jobs

        return Jobs(self._client, self._clock, self._world, may_recreate=self.may_recreate)

    @cached_property
    def _copies(self) -> "CopyMaker":
        from reroll.engine.strategies.copies import CopyMaker

        return CopyMaker(self._client, self._world.sources, self._world.copies)

    @cached_property
    def _pin_names(self) -> "PinNames":
        from reroll.engine.strategies.pin_names import PinNames

        return PinNames(self._client, self._clock, self._world)

    @cached_property
    def _value_marks(self) -> "ValueMarks":
        from reroll.engine.strategies.value_marks import ValueMarks

        return ValueMarks(self._client, self._world)

    @cached_property
    def _canaries(self) -> "CanaryMaker":
        from reroll.engine.strategies.canary import CanaryMaker

        return CanaryMaker(self._client, self._world, stays=self._stays)

    @cached_property
    def _repairs(self) -> "Repairs":
        from reroll.engine.strategies.repair import Repairs

        return Repairs(self._client, self._world)

    @cached_property
    def _rollback(self) -> "Rollback":
        from reroll.engine.strategies.go_back import Rollback

        return Rollback(self._client, self._world)

    @cached_property
    def _stuck_pods(self) -> "StuckPods":
        from reroll.engine.strategies.stuck_pods import StuckPods

        return StuckPods(self._client, self._reader.workload)

    @cached_property
    def _pods(self) -> "Pods":
        from reroll.engine.strategies.pods import Pods

        return Pods(self._client, self._clock, self._world, self._reader)
