"""The arithmetic behind the figures: quantiles, lines, and what counts as a roll too many."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest
from bench.contenders import reactions, wrote_since
from bench.failover import missed, quantile
from bench.scale import line_at
from bench.spread import before_round
from tests.support.witness import Roll, hasty, slope, surplus

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def test_a_quantile_is_a_value_that_was_measured() -> None:
    values = [float(n) for n in range(30, 0, -1)]

    assert [quantile(values, share) for share in (0.5, 0.99, 1.0)] == [15, 30, 30]
    assert quantile([7.0], 0.5) == 7


def test_a_goal_that_is_missed_is_told_and_one_that_was_not_measured_is_not() -> None:
    assert missed({"kill": [6.9, 8.0], "stop": []}) == []
    reached = {"kill": [7.9], "late": {"failovers": 0}, "outage": {"caught_up_s": 10.0}}
    assert missed(reached) == []

    late = {"kill": [2.0, 8.1], "late": {"failovers": 2}, "outage": {"caught_up_s": 12.5}}
    assert [sentence.partition(":")[0] for sentence in missed(late)] == [
        "a killed leader",
        "a slow API server",
        "an API server that is back",
    ]


def test_a_line_goes_on_as_it_came() -> None:
    parts = [0.1, 0.2, 1.0]

    assert line_at(parts, [40 + 8 * part for part in parts], 10) == pytest.approx(120)
    assert line_at([1.0], [5.0], 10) == 5


def test_growth_is_that_of_the_second_half() -> None:
    start_up = [(float(at), at * 10.0) for at in range(10)]
    flat = [(float(at), 100.0) for at in range(10, 20)]

    assert slope(start_up + flat) == pytest.approx(0)
    assert slope([(float(at), 2.0 * at) for at in range(20)]) == pytest.approx(2)
    assert slope([]) == 0


def test_a_roll_needs_a_change_before_it_and_quiet_since_the_last_one() -> None:
    rolls = [Roll(15, NOON), Roll(25, NOON + timedelta(seconds=1))]

    assert surplus(rolls, [10, 20]) == []
    assert surplus(rolls, [20, 10, 22]) == []
    assert len(surplus(rolls, [10, 30])) == 1
    assert len(surplus(rolls, [16, 17])) == 1
    assert hasty(rolls, timedelta(seconds=1)) == []
    assert len(hasty(rolls, timedelta(seconds=2))) == 1


def test_the_rounds_of_doubling_are_1_2_4_and_so_on() -> None:
    assert [before_round(number) for number in range(1, 10)] == [0, 1, 1, 3, 3, 3, 3, 7, 7]


# What the audit log of a benchmark tells


def _line(verb: str, resource: str, received: int, complete: int, **more: str) -> bytes:
    reference = {"resource": resource, "namespace": "quiet"} | more
    at = [f"2030-01-01T00:00:00.{1000 * second:06}Z" for second in (received, complete)]
    return msgspec.json.encode(
        {
            "verb": verb,
            "stage": "ResponseComplete",
            "user": {"username": "somebody"},
            "objectRef": reference,
            "requestReceivedTimestamp": at[0],
            "stageTimestamp": at[1],
        }
    )


def test_a_reaction_is_from_the_answer_to_a_change_to_the_roll_that_is_asked_for(
    tmp_path: Path,
) -> None:
    audit = tmp_path / "audit.jsonl"
    before = _line("patch", "configmaps", 0, 1) + b"\n"
    lines = [
        _line("patch", "deployments", 2, 3),  # Of a change before.
        _line("patch", "configmaps", 10, 14),
        _line("patch", "configmaps", 10, 15, namespace="hostile"),
        _line("update", "deployments", 15, 16),
        _line("patch", "deployments", 17, 25),
        _line("patch", "deployments", 26, 27),
        _line("patch", "configmaps", 30, 34),
        _line("patch", "deployments", 33, 40),  # It was told of before it was answered.
        b'{"verb": "pat',
    ]
    audit.write_bytes(before + b"\n".join(lines))

    assert reactions(audit, len(before), "quiet") == [pytest.approx(0.003, abs=1e-5), 0]
    assert wrote_since(audit, len(before), "somebody") == 8
    assert wrote_since(audit, len(before), "some") == 0
