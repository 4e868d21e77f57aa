"""What `reroll doctor` says of policies of propagation."""

from datetime import timedelta
from typing import Any

import pytest

from reroll.answers.doctor.propagation import judge_paces
from reroll.core.model.key import Key
from reroll.core.model.pace import OnFailure, Pace, Parallel
from reroll.core.policy.policy import Policy

WEB = Key("Deployment", "shop", "web")
MINUTE = timedelta(minutes=1)
WAITS = "note", "a pod that starts while its workload waits for its turn"
GOES_BACK = "note", "a pod that starts after a rollback reads the content that failed"
HASTY = "warning", "is shorter than its soak time: Deployment shop/web (deadline 1m, soak 2m)"
FINE = "ok", "nothing about waves, rollback and deadlines is in doubt"


@pytest.mark.parametrize(
    ("pace", "told"),
    [
        ({"wave": 1}, [WAITS]),
        ({"max_parallel": Parallel(1)}, [WAITS]),
        ({"exclusive": "db"}, [WAITS]),
        ({"on_failure": OnFailure.ROLLBACK}, [GOES_BACK]),
        ({"wave": 1, "on_failure": OnFailure.ROLLBACK}, [WAITS, GOES_BACK]),
        ({"on_failure": OnFailure.HOLD}, [FINE]),
        ({"soak": 2 * MINUTE, "deadline": MINUTE}, [HASTY]),
        ({"soak": MINUTE, "deadline": MINUTE}, [FINE]),
        ({"soak": MINUTE}, [FINE]),
    ],
)
def test_what_is_told_of_a_workload_without_revisions(
    pace: dict[str, Any], told: list[tuple[str, str]]
) -> None:
    found = list(judge_paces([(WEB, Policy(pace=Pace(**pace)))]))

    assert [one.level for one in found] == [level for level, _ in told]
    for one, (level, sentence) in zip(found, told, strict=True):
        assert sentence in one.sentence
        assert level == "ok" or ("Deployment shop/web" in one.sentence and one.todo)


def test_with_revisions_waves_and_rollback_are_fine() -> None:
    pace = Pace(wave=1, on_failure=OnFailure.ROLLBACK)

    [found] = judge_paces([(WEB, Policy(pace=pace, revisions=True))])

    assert (found.level, found.sentence) == FINE


def test_where_all_go_at_once_nothing_is_said() -> None:
    assert list(judge_paces([])) == []
