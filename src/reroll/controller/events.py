"""Kubernetes Events: what happened, on the objects it happened to.

Written after the fact, behind the rolls and never in their way. A workload gets one for each roll;
a source gets one for all the workloads it rolled within a while.
"""

import asyncio
import secrets
from collections import deque
from collections.abc import Callable
from datetime import datetime
from typing import Any

from reroll.clock import Clock
from reroll.controller.bus import Sink
from reroll.controller.logs import Log
from reroll.controller.report import Report, Result
from reroll.core.model.key import Key, Problem
from reroll.core.tables.reasons import Reason
from reroll.kube import wire
from reroll.kube.client import Client
from reroll.kube.errors import ApiError, Throttled, Unavailable

EVENTS = wire.Resource("", "v1", "events", "Event")
WAITING_AT_MOST = 2000
TRIES = 3
PATIENCE = 2.0
"""Seconds that an Event waits for rolls at most."""
log = Log("reroll.events")


class Recorder(Sink):
    def __init__(
        self,
        client: Client,
        clock: Clock,
        instance: str,
        gather_for: float = 30.0,
        *,
        on_drop: Callable[[], None] = lambda: None,
    ) -> None:
        self._client, self._clock, self._instance = client, clock, instance
        self._gather_for = gather_for
        self._waiting: deque[tuple[float, str, dict[str, Any]]] = deque()
        self._some = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._sources: dict[Key, list[str]] = {}
        self._drop = on_drop
        self.is_busy: Callable[[], bool] = lambda: False
        """Whether there is something more urgent to ask the API server for."""
        self.identify: Callable[[Key], tuple[str, str]] = lambda _: ("v1", "")
        """The apiVersion and uid of a source: `kubectl describe` shows Events with both only."""

    def news(self, report: Report) -> None:
        if report.rolled or report.reason.event:
            self.record(report)

    def record(self, report: Report) -> None:
        """Tell of a roll, or of what stands in its way, on the workload; later on its sources."""
        kind = report.reason.severity
        regarding = _reference(report.key, report.api_version, report.uid)
        message = f"{report.reason.sentence}: {report.message}" if report.rolled else report.message
        self._add(regarding, kind, report.reason.word, _action(report), message)
        if report.rolled and report.result is Result.DONE:
            for source in report.sources:
                self._sources.setdefault(source, []).append(f"{report.key.kind} {report.key.name}")

    def problem(self, report: Report, problem: Problem) -> None:
        regarding = _reference(report.key, report.api_version, report.uid)
        self._add(regarding, "Warning", problem.reason.word, "Reading", problem.sentence)

    def announce(self, key: Key, identity: tuple[str, str], reason: Reason, message: str) -> None:
        """Warn on an object of our own; `identity` are its apiVersion and uid."""
        self._add(_reference(key, *identity), "Warning", reason.word, "Look", message)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._send_all())
            group.create_task(self._gather())

    async def flush(self) -> None:
        """Wait until all there is to tell was sent, while `run` goes on; for the end."""
        self._tell_sources()
        await self._idle.wait()

    async def _send_all(self) -> None:
        while True:
            await self._some.wait()
            self._some.clear()
            while self._waiting:
                await self._make_way(self._waiting[0][0])
                _, namespace, event = self._waiting.popleft()
                await self._send(namespace, event)
            self._idle.set()

    async def _make_way(self, since: float) -> None:
        """What is about to roll comes first, as long as nobody waits long for an Event."""
        while self.is_busy() and self._clock.monotonic() < since + PATIENCE:  # noqa: ASYNC110  nobody tells when it ends
            await asyncio.sleep(0.05)

    async def _gather(self) -> None:
        while True:
            await asyncio.sleep(self._gather_for)
            self._tell_sources()

    def _tell_sources(self) -> None:
        for source, workloads in self._sources.items():
            names = list(dict.fromkeys(workloads))
            more = f" and {len(names) - 5} more" if len(names) > 5 else ""
            message = f"its change rolled {', '.join(names[:5])}{more}"
            regarding = _reference(source, *self.identify(source))
            self._add(regarding, "Normal", Reason.CONFIG_CHANGED.word, "Rolled", message)
        self._sources.clear()

    def _add(
        self, regarding: dict[str, str], kind: str, reason: str, action: str, message: str
    ) -> None:
        if len(self._waiting) >= WAITING_AT_MOST:
            self._waiting.popleft()
            self._drop()
        event = self._event(regarding, kind, reason, action, message, self._clock.now())
        self._waiting.append((self._clock.monotonic(), regarding["namespace"], event))
        self._some.set()
        self._idle.clear()

    def _event(
        self,
        regarding: dict[str, str],
        kind: str,
        reason: str,
        action: str,
        message: str,
        now: datetime,
    ) -> dict[str, Any]:
        second = now.strftime("%Y-%m-%dT%H:%M:%SZ")
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {
                "name": f"{regarding['name'][:200]}.{secrets.token_hex(8)}",
                "namespace": regarding["namespace"],
            },
            "involvedObject": regarding,
            "type": kind,
            "reason": reason,
            "message": message[:1000],
            "action": action,
            "source": {"component": "reroll"},
            "reportingComponent": "reroll",
            "reportingInstance": self._instance,
            "firstTimestamp": second,
            "lastTimestamp": second,
            "count": 1,
        }

    async def _send(self, namespace: str, event: dict[str, Any]) -> None:
        for attempt in range(TRIES):
            try:
                await self._client.send(wire.create(EVENTS, namespace, event))
            except (Throttled, Unavailable) as error:
                await asyncio.sleep(error.retry_after or self._clock.jitter(2.0**attempt))
            except ApiError as error:
                self._drop()
                log.warning("event lost", namespace=namespace, error=str(error))
                return
            else:
                return
        self._drop()


def _reference(key: Key, api_version: str, uid: str) -> dict[str, str]:
    reference = {
        "kind": key.api_kind, "apiVersion": api_version,
        "namespace": key.namespace, "name": key.name,
    }  # fmt: skip
    return {**reference, "uid": uid} if uid else reference


def _action(report: Report) -> str:
    return f"Roll-{report.strategy}" if report.rolled else "Look"
