"""The rights of the controller, feature by feature.

Pure: the rights that were asked about and those that are missing in, findings out.
"""

from collections.abc import Iterator, Sequence

from reroll.answers.doctor.findings import Check, Finding
from reroll.features.checkup.access import Question, by_feature, lacks

ACCESS = Check("rights")


def judge(asked: Sequence[Question], lacking: Sequence[Question], who: str) -> Iterator[Finding]:
    missing = by_feature(lacking)
    for feature, needed in by_feature(asked).items():
        if feature in missing:
            yield ACCESS.problem(
                f"{feature.value}: {who} may not {lacks(missing[feature])}",
                "grant it: the chart's roles have it, or `kubectl create clusterrole`",
            )
        else:
            yield ACCESS.ok(f"{feature.value}: {who} has all {len(needed)} rights")
