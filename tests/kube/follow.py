"""A consumer of watch events that keeps the truth and notices what a watch must not do."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.kube.models import ConfigMap

from reroll.clock import SystemClock
from reroll.kube import auth, wire
from reroll.kube.client import Client
from reroll.kube.errors import Malformed
from reroll.kube.steps import Pace
from reroll.kube.watch import Absent, Apply, Delete, Event, Init, InitApply, InitDone, Watch

CONFIGMAPS = wire.Resource("", "v1", "configmaps", "ConfigMap")
SECRETS = wire.Resource("", "v1", "secrets", "Secret")
QUICK = Pace(backoff=0.05, longest_backoff=0.2, absent=0.1, forbidden=0.1)
LONGEST_WAIT = 60


def connect(kubeconfig: Path, **more: Any) -> Client:
    return Client(auth.load({}, kubeconfig=str(kubeconfig)), **more)


class Follower:
    """Keeps what the events say there is; `wrong` is what they should not have said."""

    def __init__(self) -> None:
        self.events: list[Event[Any]] = []
        self.known: dict[str, Any] = {}
        self.wrong: list[str] = []
        self._listed: set[str] | None = None
        self._news = asyncio.Event()

    def __call__(self, event: Event[Any]) -> None:
        self.events.append(event)
        match event:
            case Init():
                self._listed = set()
            case InitApply(obj):
                self._keep(obj, listed=True)
            case Apply(obj):
                if self._listed is not None:
                    self.wrong.append("Apply before the list was complete")
                self._keep(obj, listed=False)
            case Delete(obj):
                self.known.pop(obj.metadata.name, None)
            case InitDone():
                self.known = {n: o for n, o in self.known.items() if n in (self._listed or ())}
                self._listed = None
            case Absent():
                self.known = {}
            case Malformed():
                pass
        self._news.set()

    def _keep(self, obj: Any, *, listed: bool) -> None:
        name, version = obj.metadata.name, int(obj.metadata.resource_version)
        before = self.known.get(name)
        if before and version < int(before.metadata.resource_version):
            self.wrong.append(f"{name} went back in time")
        if before and not listed and version == int(before.metadata.resource_version):
            self.wrong.append(f"{name} came twice")
        if self._listed is not None:
            self._listed.add(name)
        self.known[name] = obj

    @property
    def values(self) -> dict[str, str]:
        return {name: obj.data["key"] for name, obj in self.known.items() if "key" in obj.data}

    @property
    def lists(self) -> int:
        return sum(isinstance(event, InitDone) for event in self.events)

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(LONGEST_WAIT):
            while not condition():
                self._news.clear()
                await self._news.wait()


@asynccontextmanager
async def following(client: Client, namespace: str | None, **more: Any) -> AsyncIterator[Any]:
    """Run a watch of ConfigMaps with a follower while the block runs."""
    follower, bugs = Follower(), list[str]()
    settings = {"resource": CONFIGMAPS, "model": ConfigMap, "pace": QUICK, "handler": follower}
    settings |= {"on_bug": lambda what, error: bugs.append(f"{what}: {error!r}"), **more}
    watch = Watch(client, clock=SystemClock(), namespace=namespace, **settings)
    task = asyncio.create_task(watch.run())
    try:
        yield follower, watch
    finally:
        if not task.done():
            task.cancel()
        results = await asyncio.gather(task, return_exceptions=True)
    assert isinstance(results[0], asyncio.CancelledError), f"the watch ended with {results[0]!r}"
    assert follower.wrong == []
    assert bugs == []


async def eventually(condition: Callable[[], bool]) -> None:
    """Wait for what no event announces."""
    async with asyncio.timeout(LONGEST_WAIT):
        while not condition():
            await asyncio.sleep(0.01)
