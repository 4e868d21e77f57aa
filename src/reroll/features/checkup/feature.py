"""The controller's own checkup: which of its features lack a right or an API, told as it changes.

The replica that leads asks the API server about its own rights, which everybody may, a while after
it began and then every few minutes. A feature that lacks something is off: that is a metric, a log
line and an Event on the Lease; everything else goes on as ever.
"""

import asyncio
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Protocol

import msgspec

from reroll.clock import Clock
from reroll.controller.logs import Log
from reroll.controller.metrics import Metrics
from reroll.core.model.key import Key
from reroll.core.model.metadata import Metadata
from reroll.core.tables.reasons import Reason
from reroll.core.tables.rights import Feature
from reroll.features.checkup.access import Question, ask, by_feature, lacks
from reroll.features.checkup.switched_on import APIS, questions_of, switched_on
from reroll.kube import discovery, wire
from reroll.kube.client import Client
from reroll.kube.errors import ApiError
from reroll.kube.resources import LEASES
from reroll.kube.watch import Watch
from reroll.settings.table import Settings

log = Log("reroll")
FIRST = 2.0
"""Seconds after it began to lead: what has changed meanwhile comes first."""
EVERY = 300.0
AFTER_BAD = 10.0
"""Seconds to the next look while something is missing."""


class Announcer(Protocol):
    """Who writes Events."""

    def announce(self, key: Key, identity: tuple[str, str], reason: Reason, message: str) -> None:
        """On any object; `identity` are its apiVersion and uid."""


class _Lease(msgspec.Struct):
    metadata: Metadata


class Checkup:
    """A feature of its own for the supervisor; it watches nothing."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        settings: Settings,
        metrics: Metrics,
        announcer: Announcer,
        namespace: str,
    ) -> None:
        self._client, self._clock, self._settings = client, clock, settings
        self._metrics, self._announcer, self._namespace = metrics, announcer, namespace
        self._known: Mapping[Feature, str] = {}

    async def prepare(self) -> None: ...

    def stages(self) -> Iterator[list[Watch[Any]]]:
        yield from ()

    async def read(self) -> None: ...

    async def rest(self) -> None: ...

    async def act(self) -> None:
        """For ever; what cannot be asked now is asked again."""
        try:
            await asyncio.sleep(FIRST)
            while True:
                try:
                    await self._look()
                except (ApiError, msgspec.DecodeError) as error:
                    log.debug("checkup", problem=str(error))
                await asyncio.sleep(self._clock.jitter(AFTER_BAD if self._known else EVERY))
        finally:
            self._metrics.feature_up.clear()  # whoever leads now tells

    async def _look(self) -> None:
        features = switched_on(self._settings)
        lacking = await ask(self._client, questions_of(self._settings, self._namespace))
        missing = {
            feature: f"may not {lacks(rows)}" for feature, rows in by_feature(lacking).items()
        }
        for feature in await self._unserved(features):
            api = APIS[feature].full_name
            missing[feature] = f"lacks {api}, which is not served; apply what `reroll crds` prints"
        for feature in sorted(features):
            self._metrics.feature_up.labels(feature.value).set(feature not in missing)
        if missing != self._known:
            await self._tell(missing)
            self._known = missing

    async def _unserved(self, features: Collection[Feature]) -> list[Feature]:
        asked = sorted(features & APIS.keys())
        return [one for one in asked if not await discovery.serves(self._client, APIS[one])]

    async def _tell(self, missing: Mapping[Feature, str]) -> None:
        news = {one: why for one, why in missing.items() if why != self._known.get(one)}
        for feature in sorted(self._known.keys() - missing.keys()):
            log.info("a feature is whole again", feature=feature.value)
        for feature, why in sorted(news.items()):
            log.warning("a feature is off", feature=feature.value, problem=why)
        # Where it has roles in some namespaces only, its own may not be among them.
        events = Question(Feature.ROLLING, "create", "", "events", self._namespace)
        if news and not await ask(self._client, [events]):
            place = Key(LEASES.kind, self._namespace, self._settings.lease)
            identity = (LEASES.api_version, await self._uid())
            for feature, why in sorted(news.items()):
                message = f"{feature.value} is off, or works in part: the controller {why}"
                self._announcer.announce(place, identity, Reason.FEATURE_OFF, message)

    async def _uid(self) -> str:
        """Of the Lease; there is none where no leader is elected."""
        request = wire.get(LEASES, self._namespace, self._settings.lease)
        try:
            raw = await self._client.send(request)
            return msgspec.json.decode(raw, type=_Lease).metadata.uid
        except (ApiError, msgspec.DecodeError):
            return ""
