"""Follow a rollout until it is over, whatever the API server does meanwhile.

What may pass is tried again until the workload's time is up; each change is shown.
"""

import asyncio
from collections.abc import Callable
from datetime import datetime

import msgspec

from reroll.clock import Clock
from reroll.core.model.key import Key
from reroll.core.model.metadata import Manifest, pick
from reroll.core.observe.health import Health, State, health
from reroll.core.observe.workload import Workload, workload
from reroll.engine.listing import Look
from reroll.kube import wire
from reroll.kube.client import Client
from reroll.kube.errors import AlreadyExists, ApiError, Conflict, NotFound, Throttled, Unavailable
from reroll.pipeline import pods
from reroll.pipeline.work import Options, Outcome, Work

POLL = 0.5
PASSING = (AlreadyExists, Conflict, Throttled, Unavailable)
"""Errors that a later try may not meet."""
_manifest = msgspec.json.Decoder(Manifest)


class Follow:
    """`show` is called whenever something changed about a workload; `note` with a sentence."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        look: Look,
        options: Options,
        show: Callable[[Work], None],
        note: Callable[[str], None],
    ) -> None:
        self._client, self._clock, self._look = client, clock, look
        self._options, self._show, self._note = options, show, note
        self._unreachable = False

    async def follow(self, work: Work, deadline: datetime) -> None:
        """Until its pods are replaced; without `wait`, only until the roll is known to be made."""
        made = await self.fetch(work, deadline)
        if made is None:
            return
        work.after = template(work, made)
        replaces = self.workload(work).replaces_pods
        if not self._options.wait or not replaces:
            waits = "" if replaces else "its pods are replaced when somebody deletes them"
            self.change(work, Outcome.ROLLED, waits)
            return
        await self._until_over(work, deadline)

    async def _until_over(self, work: Work, deadline: datetime) -> None:
        while (found := await self.health(work, deadline)) is not None:
            if self._judge(work, found):
                return
            if not await self.sleep(POLL, deadline):
                await self._late(work)
                return

    async def join(self, work: Work, deadline: datetime) -> None:
        """A rollout that somebody else began is waited for too: the controller, or a deploy."""
        kind = work.kind
        tells = kind.counts or kind.well or kind.observes
        if not tells or not self.workload(work).replaces_pods:
            return
        found, outcome = await self.health(work, deadline), work.outcome
        if found is None or not found.replacing:
            return
        self.change(work, Outcome.ROLLING, found.message)
        await self._until_over(work, deadline)
        if work.outcome is Outcome.ROLLED and outcome is Outcome.RECORDED:
            self.change(work, outcome, work.message)

    async def health(self, work: Work, deadline: datetime) -> Health | None:
        """Of what runs its pods: itself, or the Rollout that has its template."""
        runner = self._look.world.lenders.runner(work.key)
        manifest = await self.fetch(work, deadline)
        if manifest is None or runner == work.key:
            return health(work.kind, manifest) if manifest else None
        kind, generation = self._look.engine.kinds[runner.kind], manifest.metadata.generation
        running = await self.fetch(work, deadline, runner)
        return health(kind, running, lent=generation) if running else None

    def _judge(self, work: Work, found: Health) -> bool:
        """Whether its rollout is over, one way or the other."""
        if found != work.health:
            work.health = found
            self.change(work, work.outcome, found.message)
        if found.state is State.GOES_ON:
            return False
        done = found.state is State.DONE
        self.change(work, Outcome.ROLLED if done else Outcome.FAILED, found.message)
        return True

    async def _late(self, work: Work) -> None:
        """Time is up: failed if its pods say so, timed out if they may just be slow."""
        found = await pods.pods_of(self._client, self.workload(work))
        said, broken = pods.told(found)
        detail = "; ".join(filter(None, (work.detail, said)))
        self.change(work, Outcome.FAILED if broken else Outcome.TIMED_OUT, detail)

    async def fetch(
        self, work: Work, deadline: datetime, key: Key | None = None
    ) -> Manifest | None:
        """The workload as it is now, however long that takes; `None` if that is the end of it."""
        key = key or work.key
        resource = wire.resource_of(self._look.engine.kinds[key.kind])
        request = wire.get(resource, key.namespace, key.name)
        while True:
            try:
                found = _manifest.decode(await self._client.send(request))
            except NotFound:
                self.change(work, Outcome.FAILED, "it was deleted")
                return None
            except PASSING as error:
                self.met(error)
            else:
                self.met(None)
                return found
            if not await self.sleep(POLL, deadline):
                self.change(work, Outcome.TIMED_OUT, "the API server cannot be reached")
                return None

    def workload(self, work: Work) -> Workload:
        return workload(work.kind, work.before, None, words=self._look.world.dialects.words)

    def change(self, work: Work, outcome: Outcome, detail: str) -> None:
        work.outcome, work.detail = outcome, detail
        under_way = outcome in {Outcome.PENDING, Outcome.ROLLING}
        work.ended = None if under_way else work.ended or self._clock.now()
        self._show(work)

    def met(self, error: ApiError | None) -> None:
        """Tell once when the API server goes away, and when it is back."""
        away = isinstance(error, Unavailable)
        if away and not self._unreachable:
            self._note(f"{error}; trying on until the time is up")
        elif error is None and self._unreachable:
            self._note("the API server answers again")
        if error is None or away:
            self._unreachable = away

    async def sleep(self, seconds: float, deadline: datetime) -> bool:
        """Whether there was time for that."""
        left = (deadline - self._clock.now()).total_seconds()
        await asyncio.sleep(max(0.0, min(seconds, left)))
        return left > 0


def template(work: Work, manifest: Manifest) -> object:
    """The pod template, as values."""
    raw = pick(manifest, work.kind.template)
    return msgspec.json.decode(raw) if raw else {}
