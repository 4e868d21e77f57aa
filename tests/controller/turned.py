"""Time that stands still until a test moves it, for code that uses the event loop's own timers."""

import asyncio
from collections.abc import Callable

from tests.kube.fakes import StillClock


class TurnedLoop(asyncio.SelectorEventLoop):
    """An event loop whose time is that of a clock; it never waits, it is turned by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = StillClock()

    def time(self) -> float:
        return self.clock.seconds

    def turn(self, move: float = 0.0) -> None:
        """Move the clock, then let everything happen that is due now."""
        self.clock.move(move)
        for _ in range(5):
            self.run_until_complete(asyncio.sleep(0))

    def inside(self, do: Callable[[], None]) -> None:
        """Call something that needs the running loop."""

        async def called() -> None:
            do()

        self.run_until_complete(called())
        self.turn()
