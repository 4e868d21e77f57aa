"""Every metric, once. Names and labels are documented in docs/reference/metrics.md."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from reroll import __version__
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


class _Watches(Collector):
    """How the watches are: read when somebody asks, not when it changes."""

    def __init__(self, read: Callable[[], Iterable[Watched]]) -> None:
        self._read = read

    def collect(self) -> Iterator[Metric]:
        ages = GaugeMetricFamily(
            "reroll_watch_age_seconds",
            "Seconds since the API server last told anything on a watch",
            labels=["resource"],
        )
        states = GaugeMetricFamily(
            "reroll_watch_state",
            "1 for the state that a watch is in: starting, listing, watching, absent, forbidden or failing",
            labels=["resource", "state"],
        )
        for one in self._read():
            ages.add_metric([one.resource], one.age)
            states.add_metric([one.resource, one.state], 1)
        yield from (ages, states)


class Metrics(Sink):
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        build = Gauge(
            "reroll_build_info",
            "The version that runs; always 1",
            ["version"],
            registry=self.registry,
        )
        build.labels(__version__).set(1)
        self.rolls = Counter(
            "reroll_rolls_total",
            "Rolls, by why, how, and what came of them",
            ["reason", "strategy", "kind", "result"],
            registry=self.registry,
        )
        self.decisions = Counter(
            "reroll_decisions_total",
            "Decisions, by reason: what was done, held or left",
            ["reason", "result"],
            registry=self.registry,
        )
        self.problems = Counter(
            "reroll_problems_total",
            "Bad input that was found, by where it stands",
            ["kind", "namespace"],
            registry=self.registry,
        )
        self.latency = Histogram(
            "reroll_change_to_patch_seconds",
            "From a change noticed to the patch answered, debounce included",
            registry=self.registry,
            buckets=BUCKETS,
        )
        self.calls = Counter(
            "reroll_api_calls_total",
            "Calls to the API server",
            ["verb", "resource", "code"],
            registry=self.registry,
        )
        self.leader = Gauge(
            "reroll_leader", "1 while this replica is the one that acts", registry=self.registry
        )
        self.workloads = Gauge(
            "reroll_workloads", "Workloads that opted in", registry=self.registry
        )
        self.sources = Gauge(
            "reroll_sources", "Sources that opted-in workloads refer to", registry=self.registry
        )
        self.queue_depth = Gauge(
            "reroll_queue_depth", "Workloads waiting to be looked at", registry=self.registry
        )
        self.queue_age = Gauge(
            "reroll_queue_age_seconds",
            "For how long the first of them has been due",
            registry=self.registry,
        )
        self.feature_up = Gauge(
            "reroll_feature_up",
            "1 while all rights and APIs are there that a feature needs; told by the replica that leads",
            ["feature"],
            registry=self.registry,
        )
        self.injections = Gauge(
            "reroll_injections",
            "Injections, by whether their value is in place",
            ["ready"],
            registry=self.registry,
        )
        self.events_dropped = Counter(
            "reroll_events_dropped_total",
            "Kubernetes Events that could not be written",
            registry=self.registry,
        )

    def report(self, report: Report) -> None:
        self.decisions.labels(report.reason.word, report.result.value).inc()
        if report.rolled:
            labels = (report.reason.word, report.strategy, report.key.kind, report.result.value)
            self.rolls.labels(*labels).inc()
            if report.seconds is not None and report.result is Result.DONE:
                self.latency.observe(report.seconds)

    def problem(self, report: Report, problem: Problem) -> None:  # noqa: ARG002  by where, not by what
        self.problems.labels(report.key.kind, report.key.namespace).inc()

    def watches(self, read: Callable[[], Iterable[Watched]]) -> None:
        self.registry.register(_Watches(read))

    def called(self, call: Call) -> None:
        resource = call.request.resource
        name = resource.full_name if resource else ""
        self.calls.labels(call.request.verb, name, str(call.status or "none")).inc()
