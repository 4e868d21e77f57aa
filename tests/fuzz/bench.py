"""The controller's own wiring without a network: bytes go in where a watch or an answer has them.

Nothing here imitates the API server. `Answers` hands out bytes by path, whatever they are.
"""

import asyncio
import io
import traceback
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

from tests.core.build import DEPLOYMENT, Document, env_from, patched, template
from tests.core.build import document as manifest
from tests.fuzz.mutate import encode
from tests.kube.fakes import StillClock

from reroll.controller import bugs, logs
from reroll.controller.bus import Bus
from reroll.controller.events import Recorder
from reroll.controller.log_lines import LogLines
from reroll.controller.metrics import Metrics
from reroll.core.decide.actions import Patch
from reroll.core.decide.plan import Plan
from reroll.core.model.key import Key
from reroll.core.observe.snapshot import Keys
from reroll.core.tables.reasons import Reason
from reroll.core.write.patches import patch
from reroll.features.rolling.feature import Rolling
from reroll.kube import wire
from reroll.kube.client import Client
from reroll.kube.errors import ApiError, NotFound
from reroll.kube.outage import Outage
from reroll.kube.watch import Watch
from reroll.settings.resolve import resolve

T = TypeVar("T")
HOME = "quiet"
GOOD = Key("Deployment", HOME, "good")
INITIAL_END = {"k8s.io/initial-events-end": "true"}


class Answers:
    """Bytes by path, for every method; what is not there is a 404."""

    def __init__(self) -> None:
        self.by_path: dict[str, bytes] = {}
        self.everything: bytes | None = None
        self.sent: list[wire.Request] = []
        self.outage = Outage()

    async def send(self, request: wire.Request, **_: Any) -> bytes:
        self.sent.append(request)
        body = self.by_path.get(request.path.partition("?")[0], self.everything)
        if body is None:
            raise NotFound("there is none", status=404, method=request.method, path=request.path)
        return body

    @property
    def client(self) -> Client:
        return cast("Client", self)


@contextmanager
def no_bugs() -> Iterator[list[str]]:
    """That no error is reported which nothing expected, wherever it was caught."""
    found: list[str] = []

    def note(part: bugs.Part, error: BaseException, **fields: str) -> None:
        found.append(f"{part} {fields}\n{''.join(traceback.format_exception(error))}")

    usual, bugs.report = bugs.report, note
    try:
        yield found
    finally:
        bugs.report = usual
    assert found == [], found[0]


def run(work: Coroutine[Any, Any, T]) -> T:
    """On a loop whose callbacks fail the test when they fail."""

    async def whole() -> T:
        failed: list[Any] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: failed.append(context))
        result = await work
        await asyncio.sleep(0)
        assert failed == []
        return result

    with no_bugs():
        return asyncio.run(whole())


class Bench:
    """A controller that leads, with all its watches open; make it while a loop runs."""

    def __init__(self, file: dict[str, Any] | None = None) -> None:
        self.answers, self.clock = Answers(), StillClock()
        settings = resolve({"debounce": "0s"}, {}, file or {}, "config.yaml")
        client = self.answers.client
        self.out = io.StringIO()
        logs.configure("json", "info", self.out)
        metrics = Metrics()
        self.bus = Bus(self.clock, metrics, LogLines())
        self.rolling = Rolling(client, self.clock, settings, self.bus, "reroll")
        self.observer = self.rolling.observer
        self.world = self.observer.world
        identify = self.world.sources.identity
        self.recorder = Recorder(client, self.clock, "me", identify=identify)
        self.bus.subscribe(self.recorder)
        self.rolling._acting = True
        self.world.records_known = True
        self.world.rekey({"k1": b"x" * 32}, Keys("k1", frozenset({"k1"})))
        self.watches: dict[str, Watch[Any]] = {}
        for stage in self.rolling.stages():
            for watch in stage:
                self.watches[watch.resource.plural] = watch
                watch._open()

    def listed(self) -> None:
        """The first lists are complete."""
        for watch in self.watches.values():
            self.line(watch, "BOOKMARK", {"metadata": {"annotations": INITIAL_END}})

    def line(self, watch: Watch[Any], word: str, document: Any) -> None:
        watch._take([b'{"type":"%s","object":%s}' % (word.encode(), encode(document))])

    def feed(self, plural: str, document: Any, word: str = "MODIFIED") -> None:
        self.line(self.watches[plural], word, document)

    async def look(self) -> None:
        """Read what is wanted and reconcile every workload that is known, as the worker would."""
        reader, executor = self.observer.reader, self.rolling._executor
        while reader._queue.is_ready:
            want = await reader._queue.get()
            with_errors = await _outcome(reader._read(want))
            if isinstance(with_errors, Exception):
                reader._failed(want, with_errors)
            reader._queue.done(want)
        for key in tuple(self.world.workloads):
            if key != GOOD:
                self.rolling._publish(key, await executor.reconcile(key))
        self.rolling.queue.clear()
        while self.recorder._waiting:
            await _outcome(self.recorder._send(self.recorder._waiting.take()[0]))

    # What has to work all the same

    async def rolls_good(self) -> None:
        """A good workload is adopted, and rolls when its source changes."""
        before = _workload(10)
        self.feed("deployments", before, "ADDED")
        self.feed("configmaps", _source(1, "old"), "ADDED")
        plan = await self._decide()
        assert plan.reason is Reason.ADOPTED, plan
        adopted = patched(before, self._operations(plan))
        adopted["metadata"]["resourceVersion"] = "11"
        self.feed("deployments", adopted)
        assert (await self._decide()).reason is Reason.UP_TO_DATE
        self.feed("configmaps", _source(2000, "new"))
        self.clock.move(5)
        plan = await self._decide()
        assert plan.reason is Reason.CONFIG_CHANGED, plan
        rolled = patched(adopted, self._operations(plan))
        assert rolled["spec"]["template"] != adopted["spec"]["template"]

    async def _decide(self) -> Plan:
        decision = await self.observer.decide(GOOD)
        assert decision.snapshot is not None
        return decision.plan

    def _operations(self, plan: Plan) -> list[Document]:
        (action,) = [one for one in plan.actions if isinstance(one, Patch)]
        before = self.world.workloads[GOOD].workload
        return cast("list[Document]", patch(before, DEPLOYMENT, action.edits))


async def _outcome(work: Coroutine[Any, Any, Any]) -> Any:
    try:
        return await work
    except ApiError as error:
        return error


def _source(version: int, value: str) -> Document:
    metadata = {"name": "app", "namespace": HOME, "resourceVersion": str(version), "uid": "c"}
    return {"metadata": metadata, "data": {"key": value}}


def _workload(version: int) -> Document:
    pods = template(envFrom=env_from(configmap="app"))
    return manifest(DEPLOYMENT, pods, version=version, name="good", namespace=HOME, uid="good-uid")
