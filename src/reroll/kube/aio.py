"""Concurrent calls that can be cancelled at any moment.

`asyncio.gather` alone does not do: if one of its jobs fails in the moment of its cancellation, it
raises the failure and the cancellation is lost. A caller that retries would then never end, and a
leader that lost its Lease would wait for it for ever.
"""

import asyncio
from collections.abc import Awaitable, Iterable
from typing import TypeVar

T = TypeVar("T")


async def gather(jobs: Iterable[Awaitable[T]]) -> list[T]:
    """The results of all jobs, in their order, or the first error; a cancellation wins."""
    try:
        return list(await asyncio.gather(*jobs))
    except Exception:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise asyncio.CancelledError from None
        raise
