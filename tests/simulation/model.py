"""A cluster in a model, and what people do to it; time passes only by `pass_time` and `settle`."""

import asyncio
import random
from collections.abc import Callable
from typing import Any

from tests.simulation.controllers import Faults, Replica
from tests.simulation.deployments import Deployments, Values
from tests.simulation.json_patch import Document, merged
from tests.simulation.laws import Laws
from tests.simulation.store import THEIRS, Store, managed
from tests.simulation.virtual_time import VirtualClock
from tests.support import build

from reroll.features.notices.courier import Send
from reroll.settings.table import Settings

NAMESPACE = "shop"
LEASE = 5.0
"""Seconds until another replica leads: longer than any watch of the model is late."""
NEXT_SECOND = 1.1
"""Until objects tell another time."""
QUIET = 700.0
"""Seconds without a write after which nothing more comes: longer than whatever is waited for."""


class Model:
    def __init__(self, settings: Settings | None = None, *, seed: int = 0) -> None:
        self.store, self.clock = Store(), VirtualClock(seed)
        self.faults, self.settings = Faults(), settings or Settings()
        self.deployments = Deployments(self.store, self.clock, seed + 1)
        self.laws = Laws(self.store, self.deployments, self.settings.limits)
        self.store.now = self.second
        self._chance = random.Random(seed + 2)
        self.send: Send | None = None
        """Who takes notices, where some are configured."""
        self.leader: Replica | None = None
        self.standby: Replica | None = None
        self._last = 0.0
        self.store.watchers.append(self._note)

    def _note(self, plural: str, raw: bytes, gone: bool) -> None:
        if b"reroll.dev/records" not in raw:
            self._last = asyncio.get_running_loop().time()

    # Time

    async def pass_time(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self._check()

    def _check(self) -> None:
        if self.store.errors:
            raise self.store.errors[0]

    async def settle(self, most: float = 50_000.0, quiet: float = QUIET) -> None:
        """Until nothing is written any more, as long as the controller itself asks for no more."""
        loop = asyncio.get_running_loop()
        end, self._last = loop.time() + most, max(self._last, loop.time())
        while loop.time() < self._last + quiet:
            assert loop.time() < end, "it never ends"
            await asyncio.sleep(self._last + quiet - loop.time())
            self._check()

    # Controllers

    async def start(self, *, standby: bool = False) -> None:
        self.leader = await self._replica()
        self.leader.lead()
        if standby:
            self.standby = await self._replica()

    async def _replica(self) -> Replica:
        seed = self._chance.randrange(2**32)
        one = Replica(self.store, self.clock, self.settings, self.faults, seed, self.send)
        await one.start()
        return one

    async def kill(self, meanwhile: Callable[[], None] | None = None) -> None:
        """The leader ends; the next one knows what the objects say, or what it watched."""
        assert self.leader is not None
        await self.leader.kill()
        if meanwhile is not None:
            await asyncio.sleep(NEXT_SECOND)
            meanwhile()
        if self.standby:
            await asyncio.sleep(LEASE)
            self.leader, self.standby = self.standby, await self._replica()
        else:
            self.leader = await self._replica()
        self.leader.lead()

    # What people do

    def source(self, name: str = "app", **annotations: str) -> None:
        made = build.configmap(
            name, {name: "v0"}, namespace=NAMESPACE, annotations=_keys(annotations)
        )
        self.store.put("configmaps", made)
        self.laws.changed(name, {name: "v0"})

    def workload(
        self, name: str, uses: tuple[str, ...] = ("app",), *, replicas: int = 1, **pace: str
    ) -> None:
        made = build.deployment(
            name,
            replicas=replicas,
            uses=[f"configmap/{one}" for one in uses],
            annotations={"reroll.dev/enabled": "true", **_keys(pace)},
        )
        self.store.put("deployments", merged(made, {"metadata": {"namespace": NAMESPACE}}))

    def change(self, value: str, name: str = "app") -> None:
        there = self.store.all("configmaps")[NAMESPACE, name]
        data: Values = {name: value}
        self.store.put("configmaps", {**there, "data": data})
        self.laws.changed(name, data)

    def edit(self, name: str, body: Document) -> None:
        """Somebody changes a Deployment: a merge patch."""
        there = self.store.all("deployments").get((NAMESPACE, name))
        if there is not None:
            self.laws.touched(name)
            self.store.put("deployments", merged(there, body))

    def deploy(self, name: str, version: int) -> None:
        """Another writer changes the template of a Deployment, and not what it uses."""
        labels = {"version": f"{version} at {self.clock.monotonic()}"}
        self.edit(name, {"spec": {"template": {"metadata": {"annotations": labels}}}})
        there = self.store.all("deployments").get((NAMESPACE, name))
        if there is not None:
            self.laws.deployed(name)
            self.store.put("deployments", managed(there, "helm", self.second(), THEIRS))

    def second(self) -> str:
        return self.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")

    def annotate(self, name: str, **annotations: str | None) -> None:
        self.edit(name, {"metadata": {"annotations": _keys(annotations)}})

    def delete(self, name: str) -> None:
        if (NAMESPACE, name) in self.store.all("deployments"):
            self.laws.touched(name)
            self.store.delete("deployments", (NAMESPACE, name))

    # What there is

    def values(self, name: str) -> Values | None:
        """What the pods have that serve."""
        pods = self.deployments.states[NAMESPACE, name].serving
        return pods.values if pods else None

    def names(self) -> list[str]:
        return [name for _, name in self.store.all("deployments")]


def _keys(words: dict[str, Any]) -> dict[str, Any]:
    return {f"reroll.dev/{word.replace('_', '-')}": text for word, text in words.items()}
