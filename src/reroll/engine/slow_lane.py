"""The slow lane: what waits for pods has workers of its own.

An eviction takes as long as pods take to start, a reload as long as a pod takes to answer, or not.
So a look only hands such an action over; a worker here carries it out, has the workload looked at
again, and that look picks up what came of it. Only looks write to a workload, one at a time: one
whose configuration changes while its pods hang is looked at at once, and no two write to it.
"""

from collections.abc import Awaitable, Callable, Mapping
from operator import attrgetter
from typing import Any

from reroll.clock import Clock
from reroll.controller.pace import Backoff
from reroll.controller.queue import Queue
from reroll.controller.worker import Worker
from reroll.core.decide.actions import Action
from reroll.core.model.key import Key
from reroll.engine.outcome import Blocked, Later, Step, TakenOver, Turn
from reroll.engine.writes import Paces, Write

WORKERS = 32
OF_ONE_NAMESPACE = 4
"""So many of them at most work for one namespace: pods that never answer delay their own kind."""


class _Work:
    __slots__ = ("action", "came_to", "turn")

    def __init__(self, turn: Turn, action: Action) -> None:
        self.turn, self.action = turn, action
        self.came_to: Step | Exception | None = None
        """Not to be picked up yet: `None`."""


class SlowLane:
    """`functions`: how each slow action is carried out. `wake(key)`: look at a workload.

    `forget(key)`: it needs nothing slow any more.
    """

    def __init__(
        self,
        clock: Clock,
        pacer: Paces,
        functions: Mapping[type[Action], Callable[[Turn, Any], Awaitable[Step]]],
        wake: Callable[[Key], None],
        forget: Callable[[Key], None] = lambda _: None,
    ) -> None:
        self._pacer, self._functions = pacer, functions
        self._wake, self._forget = wake, forget
        self._work: dict[Key, _Work] = {}
        self._refused: set[Key] = set()
        """Those that were in vain the last time: the others go first."""
        self._queue: Queue[Key] = Queue(clock, share=attrgetter("namespace"), most=OF_ONE_NAMESPACE)
        self._worker = Worker(self._queue, self._step, Backoff(clock), noun="workload")
        pacer.on_turn(Write.PODS, self._queue.add)

    async def run(self) -> None:
        """Carry out what is handed over, until cancelled; what is left then is forgotten."""
        try:
            await self._worker.run(WORKERS)
        finally:
            self._queue.clear()
            self._work.clear()
            self._refused.clear()

    async def carry_out(self, turn: Turn, action: Action) -> Step:
        """What came of an action; until that is known, another worker has it."""
        key, work = turn.key, self._work.get(turn.key)
        if work is None or work.action != action:
            self._work[key] = _Work(turn, action)
            self._queue.add(key, urgent=key not in self._refused)
            return TakenOver()
        work.turn = turn
        if work.came_to is None:
            return TakenOver()
        del self._work[key]
        if isinstance(work.came_to, Exception):
            raise work.came_to
        return work.came_to

    def drop(self, key: Key) -> None:
        """A workload needs nothing slow any more; what is under way comes to nothing."""
        if self._work.pop(key, None) is not None:
            self._pacer.leave(key, Write.PODS)
            self._forget(key)
        self._refused.discard(key)

    async def _step(self, key: Key) -> float | None:
        work = self._work.get(key)
        if work is None or work.came_to is not None:
            return None
        if self._pacer.wait(key, Write.PODS):
            return None  # It is woken when its turn comes.
        self._pacer.take(key, Write.PODS)
        try:
            step = await self._functions[type(work.action)](work.turn, work.action)
        except Exception as error:  # noqa: BLE001  the look that picks it up raises it
            self._ended(key, work, error)
            return None
        if isinstance(step, Later):
            return step.seconds
        self._ended(key, work, step)
        return None

    def _ended(self, key: Key, work: _Work, came_to: Step | Exception) -> None:
        if self._work.get(key) is not work:
            return  # Something else is wanted by now, or nothing.
        if isinstance(came_to, Blocked):
            self._refused.add(key)
        work.came_to = came_to
        self._wake(key)
