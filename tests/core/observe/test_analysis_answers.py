"""What AnalysisRuns say: good, bad, or neither, and no word of what they asked."""

from typing import Any

import msgspec
import pytest

from reroll.core.model.gates import Answer
from reroll.core.observe.analysis_answers import AnalysisRun, of_late_run, of_run

SECRET = "s3cr3t"


def run(phase: str, *results: dict[str, Any], **spec: Any) -> AnalysisRun:
    message = f'Get "http://x/?token={SECRET}"'
    document = {
        "metadata": {"name": "r"},
        "spec": spec,
        "status": {
            "phase": phase,
            "message": message,
            "metricResults": [{"message": message, **one} for one in results],
        },
    }
    return msgspec.convert(document, AnalysisRun)


def metric(phase: str, count: int = 1, **more: Any) -> dict[str, Any]:
    return {"name": f"m-{phase.lower()}", "phase": phase, "count": count, **more}


GOOD, BAD = metric("Successful"), metric("Failed")
MEANS: dict[str, tuple[AnalysisRun, Answer, str]] = {
    "good": (run("Successful", GOOD), Answer.OPEN, "AnalysisRun r is Successful"),
    "bad": (run("Failed", GOOD, BAD), Answer.CLOSED, "AnalysisRun r is Failed: m-failed Failed"),
    "bad, on trial only": (
        run("Successful", GOOD, metric("Failed", dryRun=True)),
        Answer.OPEN,
        "AnalysisRun r is Successful",
    ),
    "neither": (
        run("Inconclusive", metric("Inconclusive")),
        Answer.UNKNOWN,
        "AnalysisRun r is Inconclusive: m-inconclusive Inconclusive; `kubectl describe`",
    ),
    "could not be measured": (
        run("Error", metric("Error", 0)),
        Answer.UNKNOWN,
        "AnalysisRun r is Error: m-error Error; `kubectl describe`",
    ),
    "good without a measurement": (
        run("Successful", GOOD, metric("Successful", 0, error=3)),
        Answer.UNKNOWN,
        "AnalysisRun r measured nothing: m-successful",
    ),
    "ended by a person": (
        run("Successful", GOOD, terminate=True),
        Answer.UNKNOWN,
        "AnalysisRun r was terminated",
    ),
}


@pytest.mark.parametrize(("one", "answer", "why"), MEANS.values(), ids=MEANS)
def test_what_a_run_that_is_over_means(one: AnalysisRun, answer: Answer, why: str) -> None:
    found = of_run(one)
    assert one.is_over
    assert (found.answer, found.is_failure) == (answer, answer is Answer.CLOSED)
    assert why in found.why
    assert SECRET not in found.why


@pytest.mark.parametrize("phase", ["", "Pending", "Running"])
def test_a_run_that_is_not_over_in_time_is_unknown(phase: str) -> None:
    one = run(phase)
    found = of_late_run(one, 600)
    assert not one.is_over
    assert found.answer is Answer.UNKNOWN
    assert ("does the controller of Argo Rollouts run" in found.why) is (phase == "")
    assert "600 s" in found.why
