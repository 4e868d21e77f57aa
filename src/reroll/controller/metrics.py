"""Every metric, once. Names and labels are documented in docs/reference/metrics.md."""

from collections.abc import Callable, Iterable, Sized
from typing import NamedTuple, Protocol

from reroll import __version__
from reroll.controller import bugs
from reroll.controller.bus import Sink
from reroll.controller.exposition import Family, Histogram, Registry, process_families
from reroll.controller.report import Report, Result
from reroll.controller.standings import Standings
from reroll.core.model.key import Key, Problem
from reroll.core.propagation.group import Group
from reroll.core.propagation.member import Stage
from reroll.core.tables.reasons import Reason
from reroll.kube.client import Call

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Watched(NamedTuple):
    """One resource that is watched, perhaps in several namespaces."""

    resource: str
    age: float
    """Seconds since the last word, of the watch that has been silent for longest."""
    state: str
    """The worst, of several watches."""


class Backlog(Sized, Protocol):
    """A queue of keys, as far as metrics go."""

    @property
    def oldest(self) -> float: ...


class Counted(Protocol):
    """What can say how many of it are ready."""

    def count(self, *, ready: bool) -> int: ...


class Metrics(Sink):
    def __init__(self) -> None:
        self.registry = Registry()
        for family in process_families():
            self.registry.add(family)
        # fmt: off
        counted = self._counter("reroll_bugs_total", "Errors that no code expected, by what they would have ended: watch, work, report, feature or loop", "part")
        self._gauge("reroll_build_info", "The version that runs; always 1", "version").set(1, __version__)
        self.rolls = self._counter("reroll_rolls_total", "Rolls, by reason, strategy, kind and result", "reason", "strategy", "kind", "result")
        self.decisions = self._counter("reroll_decisions_total", "Decisions, by reason and by whether it was done, held or left", "reason", "result")
        self.bad_input = self._counter("reroll_problems_total", "Bad input, by kind and namespace of the workload it concerns", "kind", "namespace")
        self.latency = self.registry.add(Histogram("reroll_change_to_patch_seconds", "From a change noticed to the patch answered, debounce included", BUCKETS))
        self.calls = self._counter("reroll_api_calls_total", "Calls to the API server", "verb", "resource", "code")
        self.leader = self._gauge("reroll_leader", "1 while this replica leads: only the leader acts")
        self.workloads = self._gauge("reroll_workloads", "Workloads that opted in")
        self.sources = self._gauge("reroll_sources", "Sources that opted-in workloads refer to")
        self.queue_depth = self._gauge("reroll_queue_depth", "Workloads waiting to be looked at")
        self.queue_age = self._gauge("reroll_queue_age_seconds", "For how long the first workload in the queue has been due")
        self.feature_up = self._gauge("reroll_feature_up", "1 while a feature has all the rights and APIs that it needs; set by the replica that leads", "feature")
        self.injections = self._gauge("reroll_injections", "Injections, by whether their value is in place", "ready")
        self.propagation_count = self._gauge("reroll_propagations", "Sources whose change is on its way to the workloads that use them, by state: going on or stopped", "state")
        self.stages = self._gauge("reroll_propagation_workloads", "Workloads by where they stand with the content of a source, once for each source whose changes propagate in steps", "stage")
        self.held = self._gauge("reroll_held_workloads", "Workloads that wait, by what stands in the way; reported by the leading replica", "reason")
        self.unhealthy = self._gauge("reroll_unhealthy_workloads", "Workloads whose last rollout was not healthy: Failing, Stuck, RolledBack or RollbackFailed; reported by the leading replica", "reason")
        self.gates = self._gauge("reroll_gates", "Gates that somebody waits for, by what they last said: open, closed, unknown, or asked; once for each question; reported by the leading replica", "gate", "answer")
        rollouts = self._counter("reroll_rollouts_total", "Rollouts that ended, by result: complete where nobody asks for a verdict, else healthy; failed; stuck", "result")
        rollbacks = self._counter("reroll_rollbacks_total", "Workloads taken back to the configuration that they were last healthy with: done, and failed where they are not healthy with that either, or there is no way back", "result")
        trips = self._counter("reroll_breaker_trips_total", "Breakers that opened, because a workload rolled as often as it may")
        self.notices = self._counter("reroll_notices_total", "Messages of notices: sent, failed where a try did not get through, and dropped where none did for an hour", "notice", "result")
        self.events_dropped = self._counter("reroll_events_dropped_total", "Kubernetes Events that could not be written")
        self.watch_ages = self._gauge("reroll_watch_age_seconds", "Seconds since the API server last sent anything on a watch", "resource")
        self.watch_states = self._gauge("reroll_watch_state", "1 for the state that a watch is in: starting, listing, watching, absent, forbidden or failing", "resource", "state")
        # fmt: on
        self._standings = Standings(rollouts, rollbacks, trips)
        self.held.read(lambda: self._by_reason(self._standings.held()))
        self.unhealthy.read(lambda: self._by_reason(self._standings.unhealthy()))
        counted.read(lambda: [((part.value,), count) for part, count in bugs.counts().items()])

    def _counter(self, name: str, text: str, *labels: str) -> Family:
        return self.registry.add(Family(name, "counter", text, labels))

    def _gauge(self, name: str, text: str, *labels: str) -> Family:
        return self.registry.add(Family(name, "gauge", text, labels))

    def _by_reason(self, counts: dict[Reason, int]) -> list[tuple[tuple[str], int]]:
        """Of the leader; what another replica knows is of an earlier term."""
        if not self.leader.value():
            return []
        return [((reason.word,), count) for reason, count in counts.items()]

    def report(self, report: Report) -> None:
        self._standings.report(report)
        self.decisions.inc(report.reason.word, report.result.value)
        if report.rolled:
            labels = (report.reason.word, report.strategy, report.key.kind, report.result.value)
            self.rolls.inc(*labels)
            if report.seconds is not None and report.result is Result.DONE:
                self.latency.observe(report.seconds)

    def forget(self, key: Key) -> None:
        self._standings.forget(key)

    def problems(self, report: Report, problems: tuple[Problem, ...]) -> None:
        self.bad_input.inc(report.key.kind, report.key.namespace, by=len(problems))

    def watches(self, read: Callable[[], Iterable[Watched]]) -> None:
        """Read the state of the watches whenever the metrics are, not when it changes."""
        self.watch_ages.read(lambda: [((one.resource,), one.age) for one in read()])
        self.watch_states.read(lambda: [((one.resource, one.state), 1) for one in read()])

    def measure(self, workloads: Sized, sources: Sized, queue: Backlog) -> None:
        """Read their sizes whenever the metrics are."""
        self.workloads.read(lambda: [((), len(workloads))])
        self.sources.read(lambda: [((), len(sources))])
        self.queue_depth.read(lambda: [((), len(queue))])
        self.queue_age.read(lambda: [((), queue.oldest)])

    def propagations(self, read: Callable[[], Iterable[Group]]) -> None:
        """Read the changes that propagate with care whenever the metrics are."""
        self.propagation_count.read(lambda: _by_state(read()))
        self.stages.read(lambda: _by_stage(read()))

    def read_gates(self, read: Callable[[], Iterable[tuple[tuple[str, str], int]]]) -> None:
        """Read what gates say whenever the metrics are."""
        self.gates.read(lambda: list(read()) if self.leader.value() else [])

    def count_injections(self, injections: Counted) -> None:
        self.injections.read(
            lambda: [((str(on).lower(),), injections.count(ready=on)) for on in (True, False)]
        )

    def called(self, call: Call) -> None:
        resource = call.request.resource
        name = resource.full_name if resource else ""
        self.calls.inc(call.request.verb, name, str(call.status or "none"))


GOING_ON, STOPPED = "going on", "stopped"


def _by_state(groups: Iterable[Group]) -> list[tuple[tuple[str], int]]:
    going_on = stopped = 0
    for group in groups:
        if group.is_stopped:
            stopped += 1
        elif group.count(Stage.BEHIND) or group.count(Stage.UNDER_WAY):
            going_on += 1
    return [((GOING_ON,), going_on), ((STOPPED,), stopped)]


_STAGES = (Stage.SETTLED, Stage.HEALTHY, *(set(Stage) - {Stage.SETTLED, Stage.HEALTHY}))
"""The usual ones first: of ten thousand sources, few have workloads in any other."""


def _by_stage(groups: Iterable[Group]) -> list[tuple[tuple[str], int]]:
    counts = dict.fromkeys(Stage, 0)
    for group in groups:
        left = len(group.members)
        for stage in _STAGES:
            if not left:
                break
            count = group.count(stage)
            counts[stage] += count
            left -= count
    return [((stage.value,), count) for stage, count in counts.items()]
