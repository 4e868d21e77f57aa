"""Several calls at once, by somebody who may be told to stop at any moment.

`asyncio.gather` alone does not do: when one of its jobs fails in the very moment in which it is
cancelled, it tells of the failure and the cancellation is lost. Whoever then tries again never
ends, and a leader that lost its Lease waits for it for ever.
"""

import asyncio
from collections.abc import Awaitable, Iterable
from typing import TypeVar

T = TypeVar("T")


async def together(jobs: Iterable[Awaitable[T]]) -> list[T]:
    """What all of them came to, in their order, or the first error."""
    try:
        return list(await asyncio.gather(*jobs))
    except Exception:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise asyncio.CancelledError from None
        raise
