"""Work that does not end when it is told to."""

import asyncio
from contextlib import suppress

import pytest

from reroll.controller import supervisor
from reroll.controller.feature import Feature


async def test_work_that_goes_on_when_told_to_end_ends_the_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else it would hold the Lease and do nothing, and nobody else could do anything either."""
    monkeypatch.setattr(supervisor, "ENDING", 0.05)
    begun, over = asyncio.Event(), asyncio.Event()

    async def stubborn() -> None:
        begun.set()
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(3600)
        await over.wait()

    working = asyncio.create_task(supervisor._either(begun, stubborn()))
    with pytest.raises(RuntimeError, match="still runs"):
        await working
    over.set()
    await asyncio.sleep(0)


class Idle(Feature):
    """Needs nothing of what a feature may do."""


async def test_a_feature_overrides_only_what_it_needs() -> None:
    idle = Idle()
    assert list(idle.stages()) == []
    for step in (idle.prepare, idle.read, idle.act, idle.rest):
        await asyncio.wait_for(step(), 1)
