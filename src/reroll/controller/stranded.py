"""Keys whose last try failed because the API server could not be reached: due when it is back.

Otherwise the last of them would be tried again when its delay ends, which grows while a server is
away, and not when that is over.
"""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from reroll.kube.errors import Unavailable
from reroll.kube.outage import Outage

K = TypeVar("K", bound=Hashable)


class Stranded(Generic[K]):
    """`retry(key)` has it tried now, as if it had never failed."""

    def __init__(self, outage: Outage, retry: Callable[[K], None]) -> None:
        self._keys: set[K] = set()
        self._retry = retry
        outage.subscribe(self._back)

    def ended(self, key: K, error: Exception | None = None) -> None:
        """A try of a key ended, with an error or well."""
        # What has a status is an answer, and its delay is what the server asked for.
        if isinstance(error, Unavailable) and error.status is None:
            self._keys.add(key)
        elif self._keys:
            self._keys.discard(key)

    def clear(self) -> None:
        self._keys.clear()

    def _back(self) -> None:
        keys, self._keys = self._keys, set()
        for key in keys:
            self._retry(key)
