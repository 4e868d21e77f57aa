"""Asks gates while this replica leads: each in its own time, so that none waits for another."""

import asyncio
from collections.abc import Mapping

from reroll.clock import Clock
from reroll.controller.feature import Feature
from reroll.controller.pace import Backoff
from reroll.controller.queue import Queue
from reroll.controller.worker import Worker
from reroll.core.model.gates import Analysis, Gate, Measured
from reroll.engine.gates import GateBoard, GateId
from reroll.features.gates.analyses import Analyses
from reroll.features.gates.questions import measure

AT_ONCE = 4
"""Questions of one gate that are under way together."""


class Gates(Feature):
    """`env` names the proxies."""

    def __init__(
        self, clock: Clock, board: GateBoard, env: Mapping[str, str], analyses: Analyses
    ) -> None:
        self._clock, self._board, self._env, self._analyses = clock, board, env, analyses
        self._queues: dict[str, Queue[GateId]] = {}

    async def act(self) -> None:
        self._queues = {name: Queue(self._clock) for name in self._board.rows}
        self._board.on_wait(self._awaited)
        for one in self._board.awaited():
            self._awaited(one)
        try:
            async with asyncio.TaskGroup() as group:
                for gate in self._board.rows.values():
                    group.create_task(self._ask_all(gate))
        finally:
            self._queues = {}
            self._board.reset()
            self._analyses.forget()

    async def _ask_all(self, gate: Gate) -> None:
        async def ask(one: GateId) -> float | None:
            if not self._board.is_awaited(one):
                await self._analyses.leave(one)
                return None
            found = await self._measured(gate, one)
            if isinstance(found, float):
                return found
            self._board.answered(one, found, self._clock.now())
            return gate.every.total_seconds()

        queue = self._queues[gate.name]
        await Worker(queue, ask, Backoff(self._clock), noun="gate").run(AT_ONCE)

    async def _measured(self, gate: Gate, one: GateId) -> Measured | float:
        """What it says, or the seconds until it is worth another look."""
        if isinstance(gate.question, Analysis):
            return await self._analyses.measure(gate, gate.question, one)
        return await measure(gate, one, self._env)

    def _awaited(self, one: GateId) -> None:
        queue = self._queues.get(one.gate)
        if queue is not None:
            queue.add(one)
