"""What an AnalysisRun of Argo Rollouts says.

Pure. Of what its status tells, only names and phases are passed on: messages may hold addresses.
"""

from typing import Any

import msgspec

from reroll.core.model.gates import Answer, Measured
from reroll.core.model.metadata import Metadata
from reroll.core.model.names import several
from reroll.core.model.podspec import given
from reroll.core.model.record import Time
from reroll.core.observe.gate_answers import clean, unknown
from reroll.core.tables.annotations import GATE, GATE_ROLL

_OVER = frozenset(("Successful", "Failed", "Error", "Inconclusive"))


class MetricResult(msgspec.Struct, rename="camel"):
    name: str
    phase: str = ""
    count: int = 0
    """How often it was measured, errors left out."""
    dry_run: bool = False


class RunSpec(msgspec.Struct):
    terminate: bool = False


class RunStatus(msgspec.Struct, rename="camel"):
    phase: str = ""
    completed_at: Time | None = None
    metric_results: list[MetricResult] | None = None


class AnalysisRun(msgspec.Struct):
    metadata: Metadata
    spec: RunSpec = msgspec.field(default_factory=RunSpec)
    status: RunStatus = msgspec.field(default_factory=RunStatus)

    @property
    def gate(self) -> str:
        return (self.metadata.labels or {}).get(GATE, "")

    @property
    def roll(self) -> str:
        return (self.metadata.annotations or {}).get(GATE_ROLL, "")

    @property
    def is_over(self) -> bool:
        return self.status.phase in _OVER


class AnalysisTemplate(msgspec.Struct):
    """Either kind of template; what it measures is copied as it stands."""

    class Spec(msgspec.Struct, rename="camel"):
        metrics: list[dict[str, Any]] | None = None
        args: list[dict[str, Any]] | None = None
        dry_run: list[dict[str, Any]] | None = None
        measurement_retention: list[dict[str, Any]] | None = None
        templates: list[dict[str, Any]] | None = None

    metadata: Metadata
    spec: Spec = msgspec.field(default_factory=Spec)


def of_run(run: AnalysisRun) -> Measured:
    """Of one that is over: good, bad, or neither."""
    name, results = run.metadata.name, given(run.status.metric_results)
    counted = [one for one in results if not one.dry_run]
    bad = [f"{clean(one.name)} {clean(one.phase)}" for one in counted if one.phase != "Successful"]
    why = f"AnalysisRun {name} is {run.status.phase}{': ' + several(bad) if bad else ''}"
    match run.status.phase:
        case "Failed":
            return Measured(Answer.CLOSED, why, is_failure=True)
        case "Successful" if run.spec.terminate:
            return unknown(f"AnalysisRun {name} was terminated before it came to anything")
        case "Successful":
            empty = [clean(one.name) for one in counted if one.count == 0]
            if empty:
                return unknown(f"AnalysisRun {name} measured nothing: {several(empty)}")
            return Measured(Answer.OPEN, why)
    return unknown(f"{why}; `kubectl describe` of it says why")


def of_late_run(run: AnalysisRun, seconds: float) -> Measured:
    """Of one that should be over by now."""
    name, phase = run.metadata.name, run.status.phase
    if not phase:
        return unknown(
            f"nobody took up AnalysisRun {name} within {seconds:g} s; "
            "does the controller of Argo Rollouts run, and look at this namespace?"
        )
    return unknown(
        f"AnalysisRun {name} is {clean(phase)} after {seconds:g} s, and was deleted; "
        "give its row a longer timeout, or its metrics a smaller count"
    )
