"""What the supervisor runs: a feature of the controller."""

from collections.abc import Iterator
from typing import Any, Protocol

from reroll.kube.watch import Watch


class Feature(Protocol):
    """A feature overrides what it needs; the rest does nothing."""

    async def prepare(self) -> None:
        """Before the first watch; called again when the API server does not answer."""
        return

    def stages(self) -> Iterator[list[Watch[Any]]]:
        """Its watches; those of a stage tell nothing before all earlier ones saw what there is."""
        yield from ()

    async def read(self) -> None:
        """On every replica, from before the first watch until the end."""
        return

    async def act(self) -> None:
        """Only while this replica leads; cancelled when it leads no longer."""
        return

    async def rest(self) -> None:
        """Begin nothing more, and wait for what is under way."""
        return
