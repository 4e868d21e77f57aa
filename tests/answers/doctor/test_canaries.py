"""Canaries that a removed controller left behind."""

from typing import Any

from tests.core.build import KIND, NOW, decoded, document, workload

from reroll.answers.doctor.canaries import judge_canaries
from reroll.answers.doctor.findings import Level
from reroll.core.model.record import ABORTED, CanaryVerdict, Partition, Record, write
from reroll.core.tables.annotations import CANARY, STATE
from reroll.kube.view import ListedWorkload

STAGED = CanaryVerdict("of", "", NOW, within=Partition(1, 2, "t"))


def listed(kind: str, canary: CanaryVerdict | None = None, **metadata: Any) -> ListedWorkload:
    record = Record(1, NOW, "ConfigChanged", {}, canary=canary)
    metadata.setdefault("annotations", {STATE: write(record)})
    one = document(KIND[kind], **metadata)
    return ListedWorkload(KIND[kind], decoded(one), workload(KIND[kind], one))


def test_what_nobody_settles_is_a_problem_that_says_how_to_mend_it() -> None:
    beside = listed("Deployment", name="web-canary", labels={CANARY: "uid-1"})
    found = listed("StatefulSet", STAGED), beside, listed("Deployment")
    within, left = judge_canaries(found, is_led=False)
    assert (within.level, left.level) == (Level.PROBLEM, Level.PROBLEM)
    assert "StatefulSet shop/web (its partition is 2, and was 1)" in within.sentence
    assert "`reroll abort` and then `reroll sync`" in within.todo
    assert "the canary Deployment shop/web-canary" in left.sentence
    assert "`kubectl delete`" in left.todo

    assert not list(judge_canaries(found, is_led=True))


def test_one_that_is_settled_needs_nobody() -> None:
    over = CanaryVerdict("of", ABORTED, NOW)
    unreadable = listed("StatefulSet", annotations={STATE: "?"})
    assert not list(judge_canaries([listed("StatefulSet", over), unreadable], is_led=False))
