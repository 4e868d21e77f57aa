"""Concurrent calls: a cancellation is never lost, whatever happens at that moment."""

import asyncio

import pytest

from reroll.kube import aio


async def value(one: int) -> int:
    return one


async def failing(when: asyncio.Event) -> int:
    await when.wait()
    raise ValueError("it failed")


async def test_answers_come_in_the_order_of_the_jobs_and_errors_as_they_are() -> None:
    assert await aio.gather(map(value, range(3))) == [0, 1, 2]
    when = asyncio.Event()
    when.set()
    with pytest.raises(ValueError, match="it failed"):
        await aio.gather([failing(when), value(1)])


async def test_a_failure_in_the_moment_of_a_cancellation_does_not_undo_it() -> None:
    """`asyncio.gather` raises the failure, and a caller that retries never ends."""
    when, tries = asyncio.Event(), 0

    async def try_again_and_again() -> None:
        nonlocal tries
        while True:
            tries += 1
            try:
                await aio.gather([failing(when), failing(asyncio.Event())])
            except ValueError:
                await asyncio.sleep(3600)

    worker = asyncio.create_task(try_again_and_again())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    when.set()
    await asyncio.sleep(0)  # the job has failed now, and nobody was told yet
    worker.cancel()

    done, _ = await asyncio.wait({worker}, timeout=2)
    worker.cancel()
    assert done
    assert (worker.cancelled(), tries) == (True, 1)
