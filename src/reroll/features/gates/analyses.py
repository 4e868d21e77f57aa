"""Gates that are AnalysisRuns of Argo Rollouts: made, looked at until they are over, and removed.

What is under way is found again after a restart by its name. At most one run is left for a gate, a
workload and a phase: the next one takes its place, Argo Rollouts removes it after a while, and it
goes with its workload.
"""

from datetime import datetime, timedelta

import msgspec

from reroll.clock import Clock
from reroll.core.model.gates import Analysis, Gate, Measured
from reroll.core.model.key import Key
from reroll.core.observe.analysis_answers import AnalysisRun, AnalysisTemplate, of_late_run, of_run
from reroll.core.observe.gate_answers import unknown
from reroll.engine.gates import GateId
from reroll.engine.ports import EnginePort
from reroll.features.gates.analysis_run import (
    MOST_TEMPLATES,
    TemplateName,
    Waiting,
    referred,
    run_name,
    run_of,
)
from reroll.kube import api, discovery
from reroll.kube.client import Client
from reroll.kube.errors import ApiError, Forbidden, Invalid, Retry
from reroll.kube.resources import ANALYSIS_RUNS, ANALYSIS_TEMPLATES, CLUSTER_ANALYSIS_TEMPLATES

SOONEST, LATEST = 1.0, 15.0
"""Seconds between two looks at a run: a fifth of the time since the first, within these."""
NOT_SERVED = "the API server serves no AnalysisRuns; install Argo Rollouts, or remove the gate"


class _Seen(msgspec.Struct):
    """A run that was looked at; by our own clock, whatever that of the API server says."""

    uid: str
    since: datetime
    is_told: bool = False


class Analyses:
    def __init__(self, client: Client, clock: Clock, port: EnginePort) -> None:
        self._client, self._clock, self._port = client, clock, port
        self._seen: dict[GateId, _Seen] = {}

    def forget(self) -> None:
        """Somebody else looks at them from now on."""
        self._seen.clear()

    async def measure(self, gate: Gate, question: Analysis, one: GateId) -> Measured | float:
        """What its run came to, or the seconds until it is worth another look."""
        try:
            return await self._look(gate, question, one)
        except ValueError as problem:
            return unknown(str(problem))
        except Forbidden as error:
            return unknown(f"{error.message}; grant it: the chart's roles have it for such gates")
        except Invalid:  # What the server says of that may quote the template.
            return unknown(f"the API server refuses an AnalysisRun of {question.template}")
        except ApiError as error:
            return SOONEST if error.retry is Retry.NOW else unknown(error.message)

    async def leave(self, one: GateId) -> None:
        """Nobody waits for it any more: a run that is under way is stopped."""
        seen, key = self._seen.get(one), one.workload
        if seen and key and not seen.is_told:
            try:
                await self._delete(one, key, seen.uid)
            except ApiError as error:
                if error.retry is Retry.LATER:
                    raise
        self._seen.pop(one, None)

    async def _look(self, gate: Gate, question: Analysis, one: GateId) -> Measured | float:
        key = one.workload
        roll = self._port.roll_of(key) if key else None
        if key is None or roll is None:
            return LATEST
        name = run_name(one, key)
        run = await api.find(self._client, ANALYSIS_RUNS, key.namespace, name, AnalysisRun)
        if run is None:
            return await self._begin(question, Waiting(one, key, roll))
        if run.gate != one.gate:
            return unknown(f"there is an AnalysisRun {name} that is not ours; delete it")
        if run.metadata.deletion_timestamp is not None:
            return SOONEST
        if run.roll != str(roll.number) or not self._counts(gate, one, run):
            await self._delete(one, key, run.metadata.uid)
            return 0.0
        return await self._judge(gate, one, key, run)

    def _counts(self, gate: Gate, one: GateId, run: AnalysisRun) -> bool:
        """Whether what it says, or will say, is an answer to this question.

        One that was over before anybody looked is as good as one that we saw end, if it is new.
        """
        seen, now = self._seen.get(one), self._clock.now()
        if seen is None or seen.uid != run.metadata.uid:
            ended = run.status.completed_at
            self._seen[one] = _Seen(run.metadata.uid, now)
            return not run.is_over or (ended is not None and now - ended < gate.every)
        return not seen.is_told

    async def _judge(self, gate: Gate, one: GateId, key: Key, run: AnalysisRun) -> Measured | float:
        seen = self._seen[one]
        if run.is_over:
            seen.is_told = True
            return of_run(run)
        under_way: timedelta = self._clock.now() - seen.since
        if under_way < gate.timeout:
            return min(max(under_way.total_seconds() / 5, SOONEST), LATEST)
        await self._delete(one, key, seen.uid)
        return of_late_run(run, gate.timeout.total_seconds())

    async def _delete(self, one: GateId, key: Key, uid: str) -> None:
        name = run_name(one, key)
        await api.delete(self._client, ANALYSIS_RUNS, key.namespace, name, uid=uid)
        self._seen.pop(one, None)

    async def _begin(self, question: Analysis, waiting: Waiting) -> float:
        one, key = waiting.one, waiting.key
        body = run_of(question, await self._templates(question, key.namespace), waiting)
        made = await api.create(self._client, ANALYSIS_RUNS, key.namespace, body, AnalysisRun)
        self._seen[one] = _Seen(made.metadata.uid, self._clock.now())
        return SOONEST

    async def _templates(
        self, question: Analysis, namespace: str
    ) -> dict[TemplateName, AnalysisTemplate]:
        """The one that the gate names, and all that it refers to, each once."""
        found: dict[TemplateName, AnalysisTemplate] = {}
        left = [TemplateName(question.template, question.is_cluster)]
        while left:
            name = left.pop(0)
            if name in found:
                continue
            if len(found) == MOST_TEMPLATES:
                raise ValueError(f"{question.template} refers to more than {MOST_TEMPLATES}")
            found[name] = await self._template(name, namespace)
            left += referred(found[name])
        return found

    async def _template(self, name: TemplateName, namespace: str) -> AnalysisTemplate:
        resource = CLUSTER_ANALYSIS_TEMPLATES if name.is_cluster else ANALYSIS_TEMPLATES
        place = None if name.is_cluster else namespace
        found = await api.find(self._client, resource, place, name.name, AnalysisTemplate)
        if found is not None:
            return found
        if not await discovery.serves(self._client, ANALYSIS_RUNS, resource):
            raise ValueError(NOT_SERVED)
        where = "" if name.is_cluster else f" in namespace {namespace}"
        raise ValueError(f"there is no {name}{where}; create it, or correct the gate")
