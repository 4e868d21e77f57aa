"""Whose eyes the dashboard looks through: a view of the cluster, and how much of it that is."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, NamedTuple

import msgspec

from reroll.answers.doctor.gather import Wanted
from reroll.clock import Clock
from reroll.dashboard.reach import reach, seen_rows
from reroll.engine.earlier import Earlier
from reroll.kube.identity import own_name
from reroll.kube.view import View
from reroll.settings.table import Settings

REACH_FOR = 60.0
"""Seconds after which it is asked again where the user may look."""
SOON = 10.0


class Learnt(NamedTuple):
    settings: Settings
    """Of the controller."""
    notes: Sequence[str] = ()


class Setup(NamedTuple):
    """Where the dashboard looks, and how."""

    clock: Clock
    learn: Callable[[View], Awaitable[Learnt]]
    wanted: Wanted
    """For the doctor."""
    version: str
    keeper: View | None = None
    """In a cluster: what the dashboard itself may see, whoever asks."""
    turn: AbstractAsyncContextManager[Any] = nullcontext()
    """Whoever has it lists the cluster."""
    hides_key_names: bool = False
    """Nobody is known, so nobody is told what keys Secrets have."""


class Standpoint:
    """`view` says which cluster, with whose rights, and which namespaces of it."""

    def __init__(self, view: View, setup: Setup) -> None:
        self._view, self._setup, self._clock = view, setup, setup.clock
        self._within: tuple[str, ...] = ()
        self._looked = -REACH_FOR
        self._earlier = Earlier(self._clock)

    @property
    def clock(self) -> Clock:
        return self._clock

    def _fresh(self, namespace: str | None = None) -> View:
        view = self._view
        return View(
            *(view.client, namespace or view.namespace, view.home),
            within=self._within,
            keeper=view.keeper,
        )

    async def _learn(self, view: View) -> Learnt:
        """The settings of the controller; of windows, those of namespaces that the user sees."""
        settings, notes = await self._setup.learn(self._setup.keeper or view)
        if not self._within:
            return Learnt(settings, notes)
        rows = tuple(seen_rows(settings.windows.rows, self._within))
        calendar = msgspec.structs.replace(settings.windows, rows=rows)
        return Learnt(msgspec.structs.replace(settings, windows=calendar), notes)

    async def _look_around(self) -> None:
        """Where the user may look, if that is not for the API server alone to say."""
        keeper, now = self._setup.keeper, self._clock.monotonic()
        if keeper is None or self._view.namespace or now - self._looked < REACH_FOR:
            return
        settings, _ = await self._setup.learn(keeper)
        found = await reach(self._view.client, keeper.client, settings.namespaces)
        # Who may look nowhere is told what is missing by the API server, and asked for soon again.
        self._within = found or ()
        self._looked = now if found is not None else now - REACH_FOR + SOON

    async def who(self) -> str:
        """The user's name, as the API server has it."""
        return await own_name(self._view.client)
