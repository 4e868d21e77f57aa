"""Every metric, once. Names and labels are documented in docs/reference/metrics.md."""

from collections.abc import Callable, Iterable, Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from reroll import __version__
from reroll.kube.client import Call

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class _Ages(Collector):
    """Values that are read when somebody asks, not when they change."""

    def __init__(
        self, name: str, text: str, label: str, read: Callable[[], Iterable[tuple[str, float]]]
    ) -> None:
        self._name, self._text, self._label, self._read = name, text, label, read

    def collect(self) -> Iterator[Metric]:
        family = GaugeMetricFamily(self._name, self._text, labels=[self._label])
        for label, value in self._read():
            family.add_metric([label], value)
        yield family


class Metrics:
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
        self.events_dropped = Counter(
            "reroll_events_dropped_total",
            "Kubernetes Events that could not be written",
            registry=self.registry,
        )

    def watch_ages(self, read: Callable[[], Iterable[tuple[str, float]]]) -> None:
        text = "Seconds since the API server last told anything on a watch"
        self.registry.register(_Ages("reroll_watch_age_seconds", text, "resource", read))

    def called(self, call: Call) -> None:
        resource = call.request.resource
        name = resource.full_name if resource else ""
        self.calls.labels(call.request.verb, name, str(call.status or "none")).inc()
