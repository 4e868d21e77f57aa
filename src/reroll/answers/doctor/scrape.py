"""What the metrics of the replicas say.

Pure: the text of `/metrics` in, findings out.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from reroll.answers.doctor.findings import Check, Finding
from reroll.core.model.names import counted

METRICS = Check("metrics")
SILENT = 200.0
"""Seconds after which a watch counts as dead, with the usual settings."""
LATE = 60.0
TROUBLES = ("Failed", "Rejected", "Forbidden", "SourceForbidden")


class Sample(NamedTuple):
    name: str
    labels: dict[str, str]
    value: float


class Scrape(NamedTuple):
    """One replica."""

    where: str
    samples: tuple[Sample, ...]

    def of(self, name: str) -> Iterator[Sample]:
        return (one for one in self.samples if one.name == name)

    def value(self, name: str) -> float:
        return sum(one.value for one in self.of(name))

    @property
    def version(self) -> str:
        return next((one.labels.get("version", "") for one in self.of("reroll_build_info")), "")

    @property
    def leads(self) -> bool:
        return self.value("reroll_leader") == 1


def parse(where: str, text: str) -> Scrape:
    """Raises `ValueError` if it is no such text."""
    lines = (line for line in text.splitlines() if line.strip() and not line.startswith("#"))
    samples = [_sample(line) for line in lines]
    if not any(one.name == "reroll_build_info" for one in samples):
        raise ValueError("it has no metric reroll_build_info")
    return Scrape(where, tuple(samples))


_SAMPLE = re.compile(
    r"(?P<name>[A-Za-z_:][\w:]*)\s*(\{(?P<labels>.*)\})?\s+(?P<value>\S+)(\s+\d+)?$"
)
_LABEL = re.compile(r'\s*(\w+)="((?:[^"\\]|\\.)*)"\s*(?:,|$)')
_ESCAPES = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}


def _sample(line: str) -> Sample:
    parts = _SAMPLE.match(line)
    if parts is None:
        raise ValueError(f"{line[:80]!r} is not a sample")
    labels = {
        name: re.sub(r"\\.", lambda found: _ESCAPES.get(found[0], found[0]), text)
        for name, text in _LABEL.findall(parts["labels"] or "")
    }
    return Sample(parts["name"], labels, float(parts["value"]))


def judge(scrapes: Iterable[Scrape]) -> Iterator[Finding]:
    found = list(scrapes)
    for one in found:
        yield from _watches(one)
        yield from _work(one)
    leaders = [one.where for one in found if one.leads]
    if len(leaders) > 1:
        yield METRICS.warning(
            f"{' and '.join(leaders)} both say that they lead",
            "look again in a few seconds: two at once should only be seen while one takes over",
        )


def _watches(one: Scrape) -> Iterator[Finding]:
    states = {s.labels["resource"]: s.labels["state"] for s in one.of("reroll_watch_state")}
    bad = 0
    for sample in one.of("reroll_watch_age_seconds"):
        resource = sample.labels["resource"]
        state = states.get(resource, "")
        if state == "forbidden":
            bad += 1
            yield METRICS.problem(
                f"{one.where} may not watch {resource}", f"grant list and watch on {resource}"
            )
        elif state == "failing":
            bad += 1
            yield METRICS.warning(f"{one.where} cannot watch {resource} now", "see its log")
        elif sample.value > SILENT and state != "absent":
            bad += 1
            yield METRICS.problem(
                f"{one.where} has heard nothing of {resource} for {sample.value:.0f} s",
                "its liveness probe should restart it; see its log",
            )
    if not bad:
        yield METRICS.ok(f"{one.where}: all watches are alive")


def _work(one: Scrape) -> Iterator[Finding]:
    for sample in one.of("reroll_feature_up"):
        if sample.value == 0:
            feature = sample.labels["feature"]
            yield METRICS.problem(
                f"{one.where} says that {feature} is off, because something it needs is missing",
                "see its Lease's Events, or the rights above",
            )
    if (age := one.value("reroll_queue_age_seconds")) > LATE:
        yield METRICS.warning(
            f"{one.where}: a workload has been waiting for {age:.0f} s to be looked at",
            "see reroll_api_calls_total for refusals, and --rate and --concurrency",
        )
    silent = {s.labels["gate"] for s in one.of("reroll_gates") if s.labels["answer"] == "unknown"}
    for gate in sorted(silent):
        yield METRICS.warning(
            f"{one.where} gets no usable answer from the gate {gate}, and what waits for it waits",
            "see `kubectl get events -A --field-selector reason=GateUnknown`",
        )
    if lost := one.value("reroll_events_dropped_total"):
        yield METRICS.warning(
            f"{one.where} could not write {counted(lost, 'Event')}", "see its log for why"
        )
    dropped = [s for s in one.of("reroll_notices_total") if s.labels.get("result") == "dropped"]
    for sample in dropped:
        if sample.value:
            notice = sample.labels.get("notice", "")
            yield METRICS.warning(
                f"{one.where} gave up {counted(sample.value, 'message')} of the notice {notice}, "
                "which did not get through for an hour",
                f"see its log for why, then `reroll notice test {notice}`",
            )
    for reason in TROUBLES:
        count = sum(
            s.value for s in one.of("reroll_decisions_total") if s.labels.get("reason") == reason
        )
        if count:
            yield METRICS.note(
                f"{one.where}: {counted(count, 'decision')} ended with {reason} since it started",
                f"see `kubectl get events -A --field-selector reason={reason}`",
            )
