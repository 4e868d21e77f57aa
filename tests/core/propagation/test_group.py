"""Who may begin, by where the others stand: groups of workloads that use one source."""

import pytest

from reroll.core.model.key import Key
from reroll.core.model.pace import Parallel
from reroll.core.policy.pace import parse_parallel
from reroll.core.propagation.group import Group
from reroll.core.propagation.member import Member, Stage
from reroll.core.propagation.order import turns

SOURCE = Key("ConfigMap", "shop", "app")


def web(number: int) -> Key:
    return Key("Deployment", "shop", f"web-{number:04}")


def group(count: int, limit: str = "all", waves: int = 1) -> Group:
    found = Group(SOURCE)
    for number in range(count):
        found.put(web(number), member(Stage.BEHIND, limit, number % waves))
    return found


def member(stage: Stage, limit: str = "all", wave: int = 0) -> Member:
    parallel = parse_parallel(limit)
    limits: tuple[Parallel, ...] = (parallel,) if parallel.is_limited else ()
    return Member(
        stage,
        wave,
        limits,
        moving=stage is Stage.UNDER_WAY,
        stops=stage in {Stage.FAILED, Stage.STUCK},
        why="exit 1" if stage is Stage.FAILED else "",
    )


def rounds(one: Group, limit: str) -> list[int]:
    """How many begin in each round, where all of a round become healthy."""
    found = []
    while ready := one.ready():
        found.append(len(ready))
        for key in ready:
            one.put(key, member(Stage.UNDER_WAY, limit, one.members[key].wave))
        assert not one.ready()
        for key in ready:
            one.put(key, member(Stage.HEALTHY, limit, one.members[key].wave))
    return found


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ("all", [8]),
        ("one", [1] * 8),
        ("3", [3, 3, 2]),
        ("25%", [2, 2, 2, 2]),
        ("1%", [1] * 8),
        ("doubling", [1, 2, 4, 1]),
    ],
)
def test_as_many_begin_as_the_limit_allows(limit: str, expected: list[int]) -> None:
    assert rounds(group(8, limit), limit) == expected


def test_a_wave_begins_when_those_below_are_healthy() -> None:
    one = group(6, waves=2)
    first = one.ready()
    assert first == [web(0), web(2), web(4)]
    for key in first[:2]:
        one.put(key, member(Stage.HEALTHY))
    one.put(first[2], member(Stage.UNDER_WAY))
    assert not one.ready()
    assert one.spread(web(1)).before == first[2]
    one.put(first[2], member(Stage.UNJUDGED))
    assert one.ready() == [web(1), web(3), web(5)]


def test_one_is_called_once_and_passes_its_turn_on() -> None:
    one = group(3, "one")
    assert one.ready() == [web(0)]
    assert one.ready() == []

    assert one.passed(web(0)), "its turn goes to the next"
    assert one.ready() == [web(1)]
    one.put(web(1), member(Stage.UNDER_WAY, "one"))
    assert not one.passed(web(2)), "it has no turn to pass on"
    assert not one.passed(web(0)), "nor has it, by now"

    one.put(web(1), member(Stage.HEALTHY, "one"))
    assert len(one.ready()) == 1


@pytest.mark.parametrize("stage", [Stage.BLOCKED, Stage.UNJUDGED, Stage.SETTLED])
def test_who_cannot_begin_is_in_nobodys_way(stage: Stage) -> None:
    one = group(2, waves=2)
    one.put(web(0), member(stage))
    assert one.ready() == [web(1)]


@pytest.mark.parametrize("stage", [Stage.FAILED, Stage.STUCK])
def test_a_failure_stops_the_rest_until_it_is_gone(stage: Stage) -> None:
    one = group(4, "doubling")
    one.put(web(0), member(stage, "doubling"))
    assert not one.ready()
    spread = one.spread(web(1))
    assert spread.stopped_by == web(0)
    assert spread.is_definite is (stage is Stage.FAILED)
    one.drop(web(0))
    assert one.ready() == [web(1)]


def test_who_is_about_to_be_written_has_its_turn() -> None:
    one = group(3, "one")
    one.reserve(web(0))
    assert one.spread(web(1)).room == 0
    assert one.spread(web(0)).room == 1
    one.release(web(0))
    assert one.spread(web(1)).room == 1


def test_what_may_be_the_repair_waits_for_nobody() -> None:
    one = group(3, "one")
    one.put(web(0), member(Stage.UNDER_WAY, "one"))
    one.put(web(2), Member(Stage.BEHIND, limits=(Parallel(1),), is_free=True))
    assert one.ready() == [web(2)]


@pytest.mark.parametrize(
    ("limit", "waves", "expected"),
    [("all", 1, [1] * 6), ("one", 1, [1, 2, 3, 4, 5, 6]), ("doubling", 1, [1, 2, 2, 3, 3, 3])],
)
def test_the_order_is_known_before_the_change(limit: str, waves: int, expected: list[int]) -> None:
    assert [turns(group(6, limit, waves))[web(number)] for number in range(6)] == expected


def test_the_order_follows_waves() -> None:
    assert [turns(group(6, waves=2))[web(number)] for number in range(6)] == [1, 2, 1, 2, 1, 2]
