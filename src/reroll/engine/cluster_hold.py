"""The hold of everything: one small ConfigMap beside the controller, which exists while it holds.

It is watched by name, so it counts at once, on every replica and after every restart.
"""

from collections.abc import Callable
from typing import Any

from reroll.clock import Clock
from reroll.controller import bugs
from reroll.controller.logs import Log
from reroll.core.dialects.annotations import parse_hold
from reroll.core.model.key import Key
from reroll.core.model.metadata import Metadata
from reroll.core.model.timing import Hold
from reroll.core.tables.annotations import HOLD
from reroll.core.tables.rights import hold_name
from reroll.engine.world import World
from reroll.kube import api, watch
from reroll.kube.client import Client
from reroll.kube.errors import NotFound
from reroll.kube.objects import Stub
from reroll.kube.resources import CONFIG_MAPS
from reroll.kube.watch import Watch

log = Log("reroll")


def place_of(home: str, lease: str) -> Key:
    """Where an installation with this Lease looks for it."""
    return Key(CONFIG_MAPS.kind, home, hold_name(lease))


def hold_in(metadata: Metadata) -> Hold | None:
    text = (metadata.annotations or {}).get(HOLD)
    return None if text is None else parse_hold(text)


async def find_hold(client: Client, place: Key) -> Hold | None:
    try:
        stub = await api.get(client, CONFIG_MAPS, place.namespace, place.name, Stub)
    except NotFound:
        return None
    return hold_in(stub.metadata)


class ClusterHold:
    """Keeps `World.hold` current. `wake(key, urgent)`: look at a workload."""

    def __init__(self, world: World, place: Key, wake: Callable[[Key, bool], None]) -> None:
        self._world, self._place, self._wake = world, place, wake
        self._is_listed = False

    def follow(self, client: Client, clock: Clock, read_timeout: float) -> Watch[Any]:
        return Watch(
            client,
            CONFIG_MAPS,
            Stub,
            self.fold,
            clock=clock,
            namespace=self._place.namespace,
            metadata_only=True,
            field_selector=f"metadata.name={self._place.name}",
            read_timeout=read_timeout,
            on_state=self._changed,
            on_bug=bugs.in_watch,
        )

    def fold(self, event: watch.Event[Any]) -> None:
        if isinstance(event, watch.Init):
            self._is_listed = False
        elif isinstance(event, watch.InitApply | watch.Apply):
            self._is_listed = True
            self._set(hold_in(event.obj.metadata))
        else:
            is_gone = isinstance(event, watch.InitDone) and not self._is_listed
            if is_gone or isinstance(event, watch.Delete | watch.Absent):
                self._set(None)

    def _set(self, hold: Hold | None) -> None:
        if hold == self._world.hold:
            return
        self._world.hold = hold
        said = "everything is held" if hold else "everything is released"
        log.warning(said, reason=hold.why if hold else "", object=str(self._place))
        for key in tuple(self._world.workloads):
            self._wake(key, False)

    def _changed(self, state: str, problem: str | None) -> None:
        fields = {"problem": problem} if problem else {}
        level = log.warning if problem else log.debug
        level("watch", resource=CONFIG_MAPS.full_name, name=self._place.name, state=state, **fields)
