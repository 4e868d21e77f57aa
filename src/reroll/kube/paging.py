"""Pages of a list, each with as many objects as there is room for.

How large an object is, is up to whoever makes it: 500 ConfigMaps are a megabyte, or 500. A page
that is too large is given up and asked for again with fewer; how many fit is learnt from each.
"""

from collections.abc import Callable

from reroll.kube.client import Client
from reroll.kube.errors import TooLarge
from reroll.kube.wire import PAGE, Request

LARGEST_PAGE = 8 * 1024 * 1024
"""Bytes; a single object may be larger."""
_FEWER = 8


class Paging:
    """Of one list: `ask(limit)` is the request for its next page."""

    def __init__(self, most: int = PAGE) -> None:
        self._most = self._limit = most

    async def page(
        self,
        client: Client,
        ask: Callable[[int], Request],
        timeout: float | None = None,  # noqa: ASYNC109  handed on
    ) -> bytes:
        while True:
            limit = self._limit
            largest = None if limit == 1 else LARGEST_PAGE
            try:
                page = await client.send(ask(limit), timeout=timeout, largest=largest)
            except TooLarge:
                self._limit = max(1, limit // _FEWER)
                continue
            # Half full, if the next objects are like these.
            fitting = limit * LARGEST_PAGE // (2 * max(1, len(page)))
            self._limit = min(self._most, max(1, fitting))
            return page
