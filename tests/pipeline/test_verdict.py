"""What a rollout has come to: the one place that says whether a workload is still waited for."""

import pytest

from reroll.core.observe.health import Health, State
from reroll.pipeline.verdict import ON_DELETE, verdict
from reroll.pipeline.work import Stage

WAITS = Health(State.GOES_ON, "1 of 2 pods are new", 2, 1, 2, replacing=True)
CASES = {
    "complete": (Health(State.DONE, "", 2, 2, 2), "", True, Stage.ROLLED, ""),
    "under way": (WAITS, "", True, Stage.ROLLING, "1 of 2 pods are new"),
    "given up by Kubernetes": (Health(State.FAILED, "late"), "", True, Stage.FAILED, "late"),
    "a crash loop": (
        WAITS, "pod web-1: CrashLoopBackOff", True, Stage.FAILED,
        "1 of 2 pods are new; pod web-1: CrashLoopBackOff",
    ),
    "complete, whatever pods say": (Health(State.DONE), "pod a", True, Stage.ROLLED, ""),
    "on delete, all ready": (WAITS, "", False, Stage.ROLLED, ON_DELETE),
    "on delete, one not ready": (
        Health(State.GOES_ON, "1 of 2 pods are new", 2, 1, 1), "", False, Stage.ROLLING,
        "1 of 2 pods are new",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("health", "crash_loop", "replaces", "stage", "detail"), CASES.values(), ids=CASES
)
def test_what_a_rollout_has_come_to(
    health: Health, crash_loop: str, replaces: bool, stage: Stage, detail: str
) -> None:
    now = verdict(health, crash_loop, replaces=replaces)
    assert (now.stage, now.detail) == (stage, detail)
    assert now.is_over is (stage is not Stage.ROLLING)
