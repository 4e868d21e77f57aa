"""Metrics, and the text in which Prometheus reads them.

The reference client costs 5 MB and a twentieth of a second at import, most of it for a web server
that is not used here. Tests hold this text against that client's parser.
"""

import os
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
F = TypeVar("F", bound="Family")
Labels = tuple[str, ...]
Read = Callable[[], Iterable[tuple[Labels, float]]]


class Family:
    """One metric: its values, by those of its labels."""

    def __init__(self, name: str, kind: str, text: str, labels: Labels = ()) -> None:
        self.name, self.kind, self.text, self.labels = name, kind, text, labels
        self._values: dict[Labels, float] = {} if labels else {(): 0.0}
        self._read: Read | None = None

    def inc(self, *labels: str, by: float = 1.0) -> None:
        self._values[labels] = self._values.get(labels, 0.0) + by

    def set(self, value: float, *labels: str) -> None:
        self._values[labels] = value

    def value(self, *labels: str) -> float:
        return self._values.get(labels, 0.0)

    def read(self, function: Read) -> None:
        """Ask for the values whenever the metrics are asked for."""
        self._read = function

    def clear(self) -> None:
        self._values.clear()

    def lines(self) -> Iterator[str]:
        for values, value in self._read() if self._read else self._values.items():
            yield _line(self.name, zip(self.labels, values, strict=True), value)


class Histogram(Family):
    """How often something took how long; without labels."""

    def __init__(self, name: str, text: str, buckets: tuple[float, ...]) -> None:
        super().__init__(name, "histogram", text)
        self._buckets = (*buckets, float("inf"))
        self._counts = [0] * len(self._buckets)
        self._sum = 0.0

    def observe(self, seconds: float) -> None:
        self._counts[bisect_left(self._buckets, seconds)] += 1
        self._sum += seconds

    def lines(self) -> Iterator[str]:
        total = 0
        for most, count in zip(self._buckets, self._counts, strict=True):
            total += count
            yield _line(f"{self.name}_bucket", [("le", _number(most))], total)
        yield _line(f"{self.name}_count", (), total)
        yield _line(f"{self.name}_sum", (), self._sum)


class Registry:
    def __init__(self) -> None:
        self.families: list[Family] = []

    def add(self, family: F) -> F:
        self.families.append(family)
        return family

    def render(self) -> bytes:
        lines: list[str] = []
        for family in self.families:
            lines.append(f"# HELP {family.name} {family.text}")
            lines.append(f"# TYPE {family.name} {family.kind}")
            lines += family.lines()
        return ("\n".join(lines) + "\n").encode()


def _line(name: str, labels: Iterable[tuple[str, str]], value: float) -> str:
    inner = ",".join(f'{label}="{_escaped(text)}"' for label, text in sorted(labels))
    return f"{name}{{{inner}}} {_number(value)}" if inner else f"{name} {_number(value)}"


def _number(value: float) -> str:
    return "+Inf" if value == float("inf") else repr(float(value))


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def process_families() -> list[Family]:
    """What every program tells of itself, where the system has `/proc`."""
    if not Path("/proc/self/stat").exists():
        return []
    # fmt: off
    rows: tuple[tuple[str, str, str, Callable[[], float]], ...] = (
        ("process_cpu_seconds_total", "counter", "Processor time, in seconds", time.process_time),
        ("process_resident_memory_bytes", "gauge", "Resident memory", lambda: _pages(1)),
        ("process_virtual_memory_bytes", "gauge", "Virtual memory", lambda: _pages(0)),
        ("process_start_time_seconds", "gauge", "Start, in seconds since 1970", _started),
        ("process_open_fds", "gauge", "Open file descriptors", _open_files),
    )
    # fmt: on
    return [_process_family(*row) for row in rows]


def _process_family(name: str, kind: str, text: str, measure: Callable[[], float]) -> Family:
    family = Family(name, kind, text)
    family.read(lambda: [((), measure())])
    return family


def _pages(column: int) -> float:
    return float(Path("/proc/self/statm").read_text().split()[column]) * os.sysconf("SC_PAGE_SIZE")


def _open_files() -> float:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def _started() -> float:
    ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    booted = next(
        line for line in Path("/proc/stat").read_text().splitlines() if line.startswith("btime ")
    )
    return float(booted.split()[1]) + ticks / os.sysconf("SC_CLK_TCK")
