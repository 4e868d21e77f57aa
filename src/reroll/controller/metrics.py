"""Every metric, once. Names and labels are documented in docs/reference/metrics.md."""

from collections.abc import Callable, Iterable, Iterator, Sized
from functools import partial
from typing import NamedTuple, Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from reroll import __version__
from reroll.controller import bugs
from reroll.controller.bus import Sink
from reroll.controller.report import Report, Result
from reroll.core.model.key import Problem
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


class _Watches(Collector):
    """The state of the watches: read when the metrics are, not when it changes."""

    def __init__(self, read: Callable[[], Iterable[Watched]]) -> None:
        self._read = read

    def collect(self) -> Iterator[Metric]:
        ages = GaugeMetricFamily(
            "reroll_watch_age_seconds",
            "Seconds since the API server last sent anything on a watch",
            labels=["resource"],
        )
        states = GaugeMetricFamily(
            "reroll_watch_state",
            "1 for the state that a watch is in: starting, listing, watching, absent, forbidden or failing",
            labels=["resource", "state"],
        )
        for watched in self._read():
            ages.add_metric([watched.resource], watched.age)
            states.add_metric([watched.resource, watched.state], 1)
        yield from (ages, states)


class _Bugs(Collector):
    def collect(self) -> Iterator[Metric]:
        family = CounterMetricFamily(
            "reroll_bugs_total",
            "Errors that no code expected, by what they would have ended: watch, work, report, feature or loop",
            labels=["part"],
        )
        for part, count in bugs.counts().items():
            family.add_metric([part.value], count)
        yield family


class Metrics(Sink):
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        counter, gauge = (
            partial(Counter, registry=self.registry),
            partial(Gauge, registry=self.registry),
        )
        ProcessCollector(registry=self.registry)
        self.registry.register(_Bugs())
        gauge("reroll_build_info", "The version that runs; always 1", ["version"]).labels(
            __version__
        ).set(1)
        # fmt: off
        self.rolls = counter("reroll_rolls_total", "Rolls, by reason, strategy, kind and result", ["reason", "strategy", "kind", "result"])
        self.decisions = counter("reroll_decisions_total", "Decisions, by reason and by whether it was done, held or left", ["reason", "result"])
        self.bad_input = counter("reroll_problems_total", "Bad input, by kind and namespace of the workload it concerns", ["kind", "namespace"])
        self.latency = Histogram("reroll_change_to_patch_seconds", "From a change noticed to the patch answered, debounce included", registry=self.registry, buckets=BUCKETS)
        self.calls = counter("reroll_api_calls_total", "Calls to the API server", ["verb", "resource", "code"])
        self.leader = gauge("reroll_leader", "1 while this replica leads: only the leader acts")
        self.workloads = gauge("reroll_workloads", "Workloads that opted in")
        self.sources = gauge("reroll_sources", "Sources that opted-in workloads refer to")
        self.queue_depth = gauge("reroll_queue_depth", "Workloads waiting to be looked at")
        self.queue_age = gauge("reroll_queue_age_seconds", "For how long the first workload in the queue has been due")
        self.feature_up = gauge("reroll_feature_up", "1 while a feature has all the rights and APIs that it needs; set by the replica that leads", ["feature"])
        self.injections = gauge("reroll_injections", "Injections, by whether their value is in place", ["ready"])
        self.events_dropped = counter("reroll_events_dropped_total", "Kubernetes Events that could not be written")
        # fmt: on

    def report(self, report: Report) -> None:
        self.decisions.labels(report.reason.word, report.result.value).inc()
        if report.rolled:
            labels = (report.reason.word, report.strategy, report.key.kind, report.result.value)
            self.rolls.labels(*labels).inc()
            if report.seconds is not None and report.result is Result.DONE:
                self.latency.observe(report.seconds)

    def problems(self, report: Report, problems: tuple[Problem, ...]) -> None:
        self.bad_input.labels(report.key.kind, report.key.namespace).inc(len(problems))

    def watches(self, read: Callable[[], Iterable[Watched]]) -> None:
        self.registry.register(_Watches(read))

    def measure(self, workloads: Sized, sources: Sized, queue: Backlog) -> None:
        """Read their sizes whenever the metrics are."""
        self.workloads.set_function(lambda: len(workloads))
        self.sources.set_function(lambda: len(sources))
        self.queue_depth.set_function(lambda: len(queue))
        self.queue_age.set_function(lambda: queue.oldest)

    def count_injections(self, injections: Counted) -> None:
        for ready in (True, False):
            gauge = self.injections.labels(str(ready).lower())
            gauge.set_function(partial(injections.count, ready=ready))

    def called(self, call: Call) -> None:
        resource = call.request.resource
        name = resource.full_name if resource else ""
        self.calls.labels(call.request.verb, name, str(call.status or "none")).inc()
