"""A receiver for tests of couriers: time stands still here until a test moves it."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from tests.controller.turned import TurnedLoop
from tests.features.notices.telling import about, web

from reroll.controller.exposition import Family
from reroll.core.policy.notice import Notice
from reroll.features.notices.bulletin import Bulletin, State
from reroll.features.notices.courier import Courier
from reroll.features.notices.incidents import Delivery
from reroll.features.notices.sending import NotSent
from reroll.features.notices.state import read, written

GATHER = 15.0
BOT = {"slack": {"token-file": "/t", "channel": "C01"}}
ALERTS = {"alertmanager": {"url": "http://alertmanager:9093"}}


class Receiver:
    """Takes messages, as long as nothing is in the way."""

    def __init__(self, loop: TurnedLoop) -> None:
        self.loop, self.seen = loop, list[tuple[State, str, int]]()
        self.problem: NotSent | None = None
        self.tries = 0
        self.stored: str = "[]"
        self.can_write = True
        self.on_answer: Callable[[], None] = lambda: None
        self.courier: Courier
        self.task: asyncio.Task[None]

    def begin(self, notice: Notice, *, sweep: bool = True) -> Courier:
        """A new leader, which knows what is stored."""
        self.count = Family("reroll_notices_total", "counter", "", ("notice", "result"))
        self.courier = Courier(notice, self.loop.clock, self.send, self.save, self.count)
        self.courier.recall(read(self.stored))
        self.task = self.loop.create_task(self.courier.run())
        self.loop.turn()
        if sweep:
            self.sweep()
        return self.courier

    def sweep(self) -> None:
        self.loop.inside(self.courier.swept)

    def kill(self) -> None:
        self.task.cancel()
        self.loop.run_until_complete(asyncio.gather(self.task, return_exceptions=True))

    async def send(self, notice: Notice, message: Bulletin, ref: str) -> str:
        self.tries += 1
        if self.problem is not None:
            raise self.problem
        self.seen.append((message.state, message.id.rpartition("-")[0], message.count))
        self.on_answer()
        return "C01 1.1" if "slack" in notice.receiver else ""

    async def save(self, _: str, entries: Iterable[Delivery]) -> bool:
        if self.can_write:
            self.stored = written(entries)
        return self.can_write

    def problem_of(self, numbers: Iterable[int], **topic: Any) -> None:
        def put() -> None:
            for number in numbers:
                self.courier.problem(web(number), about(**topic), "why")

        self.loop.inside(put)

    def well(self, numbers: Iterable[int]) -> None:
        self.loop.inside(lambda: [self.courier.leave(web(number)) for number in numbers] and None)

    @property
    def states(self) -> list[tuple[State, int]]:
        return [(state, count) for state, _, count in self.seen]
