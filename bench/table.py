"""The figures that matter, with the ones to reach, and how they are printed."""

from collections.abc import Callable
from typing import Any, NamedTuple

Measured = dict[str, dict[str, Any]]


class Figure(NamedTuple):
    name: str
    read: Callable[[dict[str, Any]], float | None]
    unit: str
    goal: float
    ratio: bool = False
    """The goal is a multiple of the floor's figure."""


def _key(name: str) -> Callable[[dict[str, Any]], float | None]:
    return lambda figures: figures.get(name)


def _growth(figures: dict[str, Any]) -> float | None:
    small, large = figures.get("memory_1x_mb"), figures.get("memory_5x_mb")
    return None if small is None or large is None else large - small


FIGURES = (
    Figure("one ConfigMap, one workload, median", _key("configmap_ms"), "ms", 1.1, ratio=True),
    Figure("one Secret, one workload, median", _key("secret_ms"), "ms", 1.2, ratio=True),
    Figure("one ConfigMap, 200 workloads, the last", _key("fan_s"), "s", 1.15, ratio=True),
    Figure("300 ConfigMaps at once, the last", _key("storm_s"), "s", 1.25, ratio=True),
    Figure("20 changes within a second", _key("burst_rolls"), "rolls", 1),
    Figure("API calls for one ConfigMap change", _key("configmap_calls"), "calls", 2),
    Figure("API calls for one Secret change", _key("secret_calls"), "calls", 3),
    Figure("memory, idle", _key("memory_idle_mb"), "MB", 50),
    Figure("memory, after the work", _key("memory_after_mb"), "MB", 50),
    Figure("memory with five times the sources", _key("memory_5x_mb"), "MB", 50),
    Figure("memory added by five times the sources", _growth, "MB", 3),
    Figure("processor time for a roll, all told", _key("cpu_ms"), "ms", 1.6),
    Figure("start to first reaction", _key("start_s"), "s", 1.3),
    Figure("rolled by starting and adopting", _key("rolled_by_starting"), "rolls", 0),
)


def figures(measured: Measured) -> list[dict[str, Any]]:
    """One row each: what was measured, as a multiple of the floor where there is one."""
    rows = []
    for figure in FIGURES:
        value = figure.read(measured["reroll"])
        if value is None:
            continue
        floor = figure.read(measured["floor"]) if figure.ratio else None
        compared = value / floor if floor else value
        rows.append(
            {
                "figure": figure.name,
                "floor": floor,
                "reroll": value,
                "unit": figure.unit,
                "ratio": compared if floor else None,
                "goal": figure.goal,
                "reached": compared <= figure.goal + 1e-9,
            }
        )
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    lines = [f"{'figure':<40} {'floor':>10} {'reroll':>12} {'ratio':>7} {'goal':>8}"]
    for row in rows:
        floor = "" if row["floor"] is None else f"{row['floor']:.2f} {row['unit']}"
        ratio = "" if row["ratio"] is None else f"{row['ratio']:.2f}x"
        goal = f"≤ {row['goal']:g}{'x' if row['ratio'] else ''}"
        told = f"{row['reroll']:.2f} {row['unit']}"
        mark = "" if row["reached"] else "  missed"
        lines.append(f"{row['figure']:<40} {floor:>10} {told:>12} {ratio:>7} {goal:>8}{mark}")
    return "\n".join(lines)


def beside(measured: Measured) -> str:
    """The floor with the patch of a roll, as a multiple of the floor."""
    lines = [
        f"{'the floor, with a record in each patch':<40} {'floor':>10} {'record':>12} {'ratio':>7}"
    ]
    for figure in FIGURES:
        if not figure.ratio:
            continue
        floor, other = (figure.read(measured[name]) or 0.0 for name in ("floor", "record"))
        told = f"{floor:>7.2f} {figure.unit:<2} {other:>9.2f} {figure.unit:<2}"
        lines.append(f"{figure.name:<40} {told} {other / floor:>6.2f}x")
    return "\n".join(lines)
