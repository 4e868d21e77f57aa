"""The controller's own checkup: which of its features lack a right or an API.

The replica that leads asks the API server about its own rights, which every account may, a while
after it began and then every few minutes. A feature that lacks something is off: that is a metric,
a log line and an Event on the Lease; everything else works as before.
"""

import asyncio
from collections.abc import Collection, Mapping

from reroll.controller.context import Context
from reroll.controller.events import Recorder, Regarding
from reroll.controller.feature import Feature as Supervised
from reroll.controller.logs import Log
from reroll.core.model.key import Key
from reroll.core.tables.reasons import Reason
from reroll.core.tables.rights import Feature
from reroll.features.checkup.access import Question, ask, by_feature, lacks
from reroll.features.checkup.switched_on import APIS, questions_of, switched_on
from reroll.kube import discovery, wire
from reroll.kube.decode import decoded
from reroll.kube.errors import ApiError
from reroll.kube.objects import Stub
from reroll.kube.resources import LEASES

log = Log("reroll")
FIRST = 2.0
"""Seconds after it began to lead: changes made in between come first."""
EVERY = 300.0
AFTER_BAD = 10.0
"""Seconds to the next look while something is missing."""


class Checkup(Supervised):
    def __init__(self, context: Context, recorder: Recorder) -> None:
        self._client, self._clock = context.client, context.clock
        self._settings, self._namespace = context.settings, context.namespace
        self._metrics, self._recorder = context.metrics, recorder
        self._known: Mapping[Feature, str] = {}

    async def act(self) -> None:
        """For ever; what cannot be asked now is asked again."""
        try:
            await asyncio.sleep(FIRST)
            while True:
                try:
                    await self._look()
                except ApiError as error:
                    log.debug("checkup", problem=str(error))
                await asyncio.sleep(self._clock.jitter(AFTER_BAD if self._known else EVERY))
        finally:
            self._metrics.feature_up.clear()  # the next leader sets it

    async def _look(self) -> None:
        features = switched_on(self._settings)
        lacking = await ask(self._client, questions_of(self._settings, self._namespace))
        missing = {
            feature: f"may not {lacks(rows)}" for feature, rows in by_feature(lacking).items()
        }
        for feature in await self._unserved(features):
            api, todo = APIS[feature]
            missing[feature] = f"lacks {api.full_name}, which is not served; {todo}"
        for feature in sorted(features):
            self._metrics.feature_up.set(feature not in missing, feature.value)
        if missing != self._known:
            await self._announce(missing)
            self._known = missing

    async def _unserved(self, features: Collection[Feature]) -> list[Feature]:
        asked = sorted(features & APIS.keys())
        return [row for row in asked if not await discovery.serves(self._client, APIS[row][0])]

    async def _announce(self, missing: Mapping[Feature, str]) -> None:
        news = {off: why for off, why in missing.items() if why != self._known.get(off)}
        for feature in sorted(self._known.keys() - missing.keys()):
            log.info("a feature is whole again", feature=feature.value)
        for feature, why in sorted(news.items()):
            log.warning("a feature is off", feature=feature.value, problem=why)
        # Where it has roles in some namespaces only, its own may not be among them.
        events = Question(Feature.ROLLING, "create", "", "events", self._namespace)
        if news and not await ask(self._client, [events]):
            key = Key(LEASES.kind, self._namespace, self._settings.lease)
            lease = Regarding(key, LEASES.api_version, await self._uid())
            for feature, why in sorted(news.items()):
                message = f"{feature.value} is off, or works in part: the controller {why}"
                self._recorder.announce(lease, Reason.FEATURE_OFF, message)

    async def _uid(self) -> str:
        """Of the Lease; there is none where no leader is elected."""
        request = wire.get(LEASES, self._namespace, self._settings.lease)
        try:
            raw = await self._client.send(request)
            return decoded(raw, Stub).metadata.uid
        except ApiError:
            return ""
