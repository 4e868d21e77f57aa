"""Whether the controller has its rights, feature by feature. Pure."""

from collections.abc import Iterator, Sequence

from reroll.answers.doctor.findings import Check, Finding
from reroll.features.checkup.access import Question, by_feature, lacks

RIGHTS = Check("rights")


def judge(asked: Sequence[Question], lacking: Sequence[Question], who: str) -> Iterator[Finding]:
    missing = by_feature(lacking)
    for feature in dict.fromkeys(question.feature for question in asked):
        if questions := missing.get(feature):
            yield RIGHTS.problem(
                f"{feature.value}: {who} may not {lacks(questions)}",
                "grant it: the chart's roles have it, or `kubectl create clusterrole`",
            )
        else:
            count = sum(question.feature is feature for question in asked)
            yield RIGHTS.ok(f"{feature.value}: {who} has {_all(count)}")


def _all(count: int) -> str:
    return "the one right it needs" if count == 1 else f"all {count} rights it needs"
