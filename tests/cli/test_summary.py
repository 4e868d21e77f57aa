"""The last line of `reroll sync` and `reroll restart`."""

import pytest

from reroll.cli.run_and_wait import summary
from reroll.pipeline.work import Stage


@pytest.mark.parametrize(
    ("stages", "told"),
    [
        ([], "no workloads here"),
        ([Stage.NOTHING], "1 workload unchanged"),
        ([Stage.ROLLED, Stage.ROLLED], "2 workloads rolled"),
        ([Stage.UNDONE], "1 workload rolled back"),
        ([Stage.ROLLED, Stage.NOTHING, Stage.ROLLED], "3 workloads: 2 rolled, 1 unchanged"),
    ],
)
def test_the_summary_reads_as_a_sentence(stages: list[Stage], told: str) -> None:
    assert summary(stages) == told
