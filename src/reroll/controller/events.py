"""Kubernetes Events: what happened, on the objects it happened to.

Written after the fact, behind the rolls and never in their way. A workload gets one for each roll;
a source gets one for all the workloads that it rolled within a while, and for all whose rollout was
complete within it. What failed, and what was judged, is told on the workload.
"""

import asyncio
import secrets
from collections import deque
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, NamedTuple, Self

from reroll.clock import Clock
from reroll.controller import bugs
from reroll.controller.bugs import Part
from reroll.controller.bus import Sink
from reroll.controller.logs import Log
from reroll.controller.report import Report, Result, summary
from reroll.core.model.key import Key, Problem
from reroll.core.propagation.member import JUDGED
from reroll.core.tables import limits
from reroll.core.tables.news import problem_of
from reroll.core.tables.reasons import Reason, Severity
from reroll.kube import resources, wire
from reroll.kube.client import Client
from reroll.kube.errors import ApiError, NotFound, Throttled, Unavailable

TRIES = 3
AWAY = 60.0
"""Seconds; where nobody can be reached, whoever waits is woken when somebody can be."""
GATHER_FOR = 30.0
"""Seconds after which a source gets its Event."""
PATIENCE = 2.0
"""Seconds that an Event waits for rolls at most."""
QUIET = 0.1
"""Seconds after the last roll in which more are expected: hundreds come one by one, too."""
ROLLED = ("", "rolled")
COMPLETE = "complete"
_ENDED = frozenset((Reason.COMPLETE, Reason.HEALTHY, Reason.FAILING, Reason.STUCK, Reason.UNDONE))
TERMINATING = "NamespaceTerminating"
"""The cause of a refusal to make anything in a namespace that is being deleted."""
log = Log("reroll.events")

Identify = Callable[[Key], tuple[str, str]]
"""The apiVersion and uid of a source: `kubectl describe` shows Events with both only."""


class Regarding(NamedTuple):
    """The object that an Event is about."""

    key: Key
    api_version: str
    uid: str

    @classmethod
    def of(cls, report: Report) -> Self:
        return cls(report.key, report.api_version, report.uid)

    def reference(self) -> dict[str, str]:
        reference = {
            "kind": self.key.api_kind, "apiVersion": self.api_version,
            "namespace": self.key.namespace, "name": self.key.name,
        }  # fmt: skip
        return {**reference, "uid": self.uid} if self.uid else reference


class _Event(NamedTuple):
    regarding: Regarding
    severity: Severity
    reason: Reason
    action: str
    message: str

    def manifest(self, instance: str, now: datetime) -> dict[str, Any]:
        second = now.strftime("%Y-%m-%dT%H:%M:%SZ")
        key = self.regarding.key
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {
                "name": f"{key.name[:200]}.{secrets.token_hex(8)}",
                "namespace": key.namespace,
            },
            "involvedObject": self.regarding.reference(),
            "type": self.severity,
            "reason": self.reason.word,
            "message": self.message[:1000],
            "action": self.action,
            "source": {"component": "reroll"},
            "reportingComponent": "reroll",
            "reportingInstance": instance,
            "firstTimestamp": second,
            "lastTimestamp": second,
            "count": 1,
        }


class Lines:
    """Events that wait, in a line for each namespace: one that floods loses only its own."""

    def __init__(self) -> None:
        self._lines: dict[str, deque[tuple[dict[str, Any], float]]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, event: dict[str, Any], since: float) -> bool:
        """Whether another one had to go for it: the oldest of its line, or of the longest line."""
        line = self._lines.setdefault(event["metadata"]["namespace"], deque())
        line.append((event, since))
        if len(line) > limits.NAMESPACE_EVENTS.number:
            line.popleft()
            return True
        self._count += 1
        if self._count <= limits.EVENTS.number:
            return False
        self._pop(max(self._lines, key=lambda namespace: len(self._lines[namespace])))
        return True

    def take(self) -> tuple[dict[str, Any], float]:
        """The next one, and since when it waits: of each namespace in turn."""
        return self._pop(next(iter(self._lines)))

    def _pop(self, namespace: str) -> tuple[dict[str, Any], float]:
        """The oldest one of a namespace, which then comes after all others."""
        line = self._lines.pop(namespace)
        event = line.popleft()
        self._count -= 1
        if line:
            self._lines[namespace] = line
        return event


def _done(done: str, workloads: list[str]) -> str:
    """What a change of a source did to some of those that use it."""
    names = list(dict.fromkeys(workloads))
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    shown = f"{', '.join(names[:5])}{more}"
    if done == COMPLETE:
        return f"{COMPLETE}: {shown}"
    return f"its change rolled {shown}" if done in ROLLED else f"{shown}: {done}"


def _place(done: str) -> int:
    """Rolls come first, and how they ended last."""
    return 2 if done == COMPLETE else int(done not in ROLLED)


class Recorder(Sink):
    """Writes Events. `is_busy` says whether something more urgent waits for the API server."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        instance: str,
        *,
        identify: Identify,
        is_busy: Callable[[], bool] = lambda: False,
        on_drop: Callable[[], None] = lambda: None,
    ) -> None:
        self._client, self._clock, self._instance = client, clock, instance
        self._identify, self._is_busy, self._drop = identify, is_busy, on_drop
        self._waiting = Lines()
        self._some = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._sources: dict[Key, dict[str, list[str]]] = {}
        """Of each: the workloads, by what was done to them."""
        self._rolled_at = -QUIET
        self._began: dict[Key, dict[Key, datetime]] = {}
        """Workloads whose rollout is not known to be over: when they rolled for which source."""

    def report(self, report: Report) -> None:
        if report.reason not in _ENDED:
            return
        began = self._began.pop(report.key, {})
        for source, at in began.items() if report.reason is Reason.COMPLETE else ():
            seconds = (report.at - at).total_seconds()
            name = f"{report.key.kind} {report.key.name} after {seconds:.0f}s"
            self._gather_for((source,), COMPLETE, name)

    def forget(self, key: Key) -> None:
        self._began.pop(key, None)

    def news(self, report: Report) -> None:
        if report.rolled or report.reason.event:
            self.record(report)

    def record(self, report: Report) -> None:
        """On the workload: a roll, or what stands in its way; later on its sources."""
        action = f"Roll-{report.strategy}" if report.rolled else "Look"
        regarding, severity = Regarding.of(report), report.severity
        message = f"{report.done}{report.message}"
        self._add(_Event(regarding, severity, report.reason, action, message))
        if report.rolled:
            self._rolled_at = self._clock.monotonic()
        if report.rolled and report.result is Result.DONE and problem_of(report.reason) is None:
            name = f"{report.key.kind} {report.key.name}"
            self._gather_for(report.sources, report.done.removesuffix(": "), name)
            if report.strategy in JUDGED:
                began = dict.fromkeys(report.sources, report.at)
                self._began.setdefault(report.key, {}).update(began)

    def _gather_for(self, sources: Iterable[Key], done: str, name: str) -> None:
        for source in sources:
            self._sources.setdefault(source, {}).setdefault(done, []).append(name)

    def problems(self, report: Report, problems: tuple[Problem, ...]) -> None:
        regarding, reason = Regarding.of(report), problems[0].reason
        self._add(_Event(regarding, "Warning", reason, "Reading", summary(problems)))

    def announce(self, regarding: Regarding, reason: Reason, message: str) -> None:
        """On an object of our own."""
        self._add(_Event(regarding, reason.severity, reason, "Look", message))

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._send_all())
            group.create_task(self._gather())

    async def flush(self) -> None:
        """Wait until every Event was sent, while `run` goes on; for the end."""
        self._add_sources()
        await self._idle.wait()

    async def _send_all(self) -> None:
        while True:
            await self._some.wait()
            self._some.clear()
            while self._waiting:
                event, since = self._waiting.take()
                await self._make_way(since)
                with bugs.contained(Part.REPORT, namespace=event["metadata"]["namespace"]):
                    await self._send(event)
            self._idle.set()

    async def _make_way(self, since: float) -> None:
        """What is about to roll comes first, as long as no Event waits for long."""
        while self._is_rolling and self._clock.monotonic() < since + PATIENCE:  # noqa: ASYNC110  nothing says when it ends
            await asyncio.sleep(0.05)

    @property
    def _is_rolling(self) -> bool:
        return self._is_busy() or self._clock.monotonic() < self._rolled_at + QUIET

    async def _gather(self) -> None:
        while True:
            await asyncio.sleep(GATHER_FOR)
            with bugs.contained(Part.REPORT):
                self._add_sources()

    def _add_sources(self) -> None:
        for source, by_done in self._sources.items():
            in_order = sorted(by_done.items(), key=lambda one: _place(one[0]))
            message = "; ".join(_done(*one) for one in in_order)
            regarding = Regarding(source, *self._identify(source))
            reason = Reason.COMPLETE if by_done.keys() == {COMPLETE} else Reason.CONFIG_CHANGED
            self._add(_Event(regarding, reason.severity, reason, "Rolled", message))
        self._sources.clear()

    def _add(self, event: _Event) -> None:
        manifest = event.manifest(self._instance, self._clock.now())
        if self._waiting.add(manifest, self._clock.monotonic()):
            self._drop()
        self._some.set()
        self._idle.clear()

    async def _send(self, event: dict[str, Any]) -> None:
        namespace: str = event["metadata"]["namespace"]
        tries = 0
        while tries < TRIES:
            try:
                await self._client.send(wire.create(resources.EVENTS, namespace, event))
            except (Throttled, Unavailable) as error:
                if self._client.outage.is_on:  # Then no try counts: nobody can be reached.
                    await self._client.outage.pause(AWAY)
                    continue
                await asyncio.sleep(error.retry_after or self._clock.jitter(2.0**tries))
                tries += 1
            except ApiError as error:
                if TERMINATING in error.causes or isinstance(error, NotFound):
                    return  # The namespace is gone or going, and its Events with it: none is lost.
                self._drop()
                log.warning("event lost", namespace=namespace, error=str(error))
                return
            else:
                return
        self._drop()
