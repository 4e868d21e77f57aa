"""Events make way for rolls, but not for ever."""

import asyncio
from typing import Any

from reroll.clock import SystemClock
from reroll.controller.events import Recorder
from reroll.core.model.key import Key
from reroll.core.tables.reasons import Reason

LEASE = Key("Lease", "shop", "reroll")


class Kept(Recorder):
    """Keeps what it would send."""

    sent: list[str]

    async def _send(self, namespace: str, event: dict[str, Any]) -> None:
        self.sent.append(event["message"])


async def test_an_event_waits_while_something_is_about_to_roll() -> None:
    recorder = Kept(None, SystemClock(), "test")  # type: ignore[arg-type]
    recorder.sent, busy = [], [True]
    recorder.is_busy = lambda: busy[0]
    running = asyncio.create_task(recorder.run())
    recorder.announce(LEASE, ("v1", ""), Reason.FEATURE_OFF, "first")

    await asyncio.sleep(0.1)
    assert recorder.sent == []
    busy[0] = False
    await recorder.flush()
    assert recorder.sent == ["first"]

    busy[0] = True
    recorder.announce(LEASE, ("v1", ""), Reason.FEATURE_OFF, "second")
    await asyncio.wait_for(recorder.flush(), 30)
    assert recorder.sent == ["first", "second"]
    running.cancel()
