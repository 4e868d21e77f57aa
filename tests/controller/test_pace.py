"""Writes are spread over time, each share in its turn, and failures are answered with patience."""

from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.controller.turned import TurnedLoop
from tests.kube.fakes import StillClock

from reroll.clock import SystemClock
from reroll.controller.ease import Ease, Returns
from reroll.controller.pace import PATIENCE, Backoff, Line, Pacer, Rate


def share(key: str) -> str:
    return key[0]


class Bench:
    """A line on a clock that is moved by hand; `woken` are the keys whose turn came."""

    def __init__(self, rate: float, burst: int) -> None:
        self.loop = TurnedLoop()
        self.woken: list[str] = []
        self.line: Line[str] = Line(
            self.loop.clock, Rate(rate, burst), share=share, wake=self.woken.append
        )

    def do(self, *calls: Callable[[], object]) -> list[object]:
        """What these answer, one after the other."""
        answers: list[object] = []

        def called() -> None:
            answers.extend(call() for call in calls)

        self.loop.inside(called)
        return answers

    def waits(self, *keys: str) -> list[object]:
        return self.do(*(lambda key=key: self.line.wait(key) for key in keys))

    def takes(self, *keys: str) -> int:
        """How many of these keys have their turn now, and take it."""

        def take(key: str) -> bool:
            if self.line.wait(key):
                return False
            self.line.take(key)
            return True

        return sum(map(bool, self.do(*(lambda key=key: take(key) for key in keys))))


@pytest.fixture
def make() -> Iterator[Callable[[float, int], Bench]]:
    made: list[Bench] = []

    def bench(rate: float, burst: int) -> Bench:
        made.append(Bench(rate, burst))
        return made[-1]

    yield bench
    for one in made:
        one.line.clear()
        one.loop.close()


Make = Callable[[float, int], Bench]


def keys(share: str, number: int) -> list[str]:
    return [f"{share}{n}" for n in range(number)]


def test_a_burst_goes_at_once_and_then_each_is_woken_once_at_the_rate(make: Make) -> None:
    bench = make(10, 5)

    assert bench.takes(*keys("a", 100)) == 5
    bench.loop.turn(0.09)
    assert bench.woken == []
    for tenths in range(1, 96):
        bench.loop.turn(0.1)
        assert bench.woken == keys("a", 100)[5 : 5 + tenths]
        assert bench.takes(bench.woken[-1]) == 1
    bench.loop.turn(1000.0)
    assert len(bench.woken) == 95


def test_after_a_time_without_any_the_burst_is_there_again(make: Make) -> None:
    bench = make(10, 5)
    assert bench.takes(*keys("a", 5)) == 5

    bench.loop.turn(1000.0)

    assert bench.takes(*keys("b", 100)) == 5


def test_turns_go_round_the_shares(make: Make) -> None:
    bench = make(1, 1)
    bench.takes("x")
    bench.waits(*keys("a", 4000), "b0", "c0", "b1")

    for _ in range(6):
        bench.loop.turn(1.0)
        bench.takes(bench.woken[-1])

    assert bench.woken == ["a0", "b0", "c0", "a1", "b1", "a2"]


def test_a_key_that_has_to_wait_keeps_its_place_and_its_estimate(make: Make) -> None:
    bench = make(2, 1)
    assert bench.takes("a0") == 1

    assert bench.waits("a1", "a2", "a3", "a1") == [0.5, 1.0, 1.5, 0.5]
    # One of another share has its turn at the latest when that of each other one came once.
    assert bench.waits("b1") == [1.0]
    bench.loop.turn(0.5)
    assert bench.waits("a2", "a1") == [0.5, 0.0]
    assert bench.woken == ["a1"]


def test_a_turn_that_is_not_taken_passes_to_the_next(make: Make) -> None:
    bench = make(0.01, 1)
    bench.takes("a0")
    bench.waits("gone", "b1")
    bench.loop.turn(100.0)
    assert bench.woken == ["gone"]

    bench.loop.turn(PATIENCE)

    assert bench.woken == ["gone", "b1"]
    assert bench.takes("b1") == 1
    assert bench.takes("gone") == 0


def test_a_key_that_needs_no_turn_any_more_makes_room(make: Make) -> None:
    bench = make(1, 1)
    bench.takes("a0")
    bench.waits("a1", "a2", "a3")
    bench.do(lambda: bench.line.leave("a1"))
    bench.loop.turn(1.0)
    assert bench.woken == ["a2"]

    bench.do(lambda: bench.line.leave("a2"))  # It has its turn, which is another's at once.

    assert bench.woken == ["a2", "a3"]


def test_one_that_is_admitted_has_a_turn_to_take_later(make: Make) -> None:
    bench = make(1, 2)
    admit = bench.line.admit

    asked = bench.do(*(lambda key=key: admit(key) for key in ("a0", "a1", "a2", "a0", "a2")))
    assert asked == [True, True, False, True, False]
    assert bench.takes("a0", "b0") == 1
    bench.loop.turn(1.0)
    assert bench.woken == ["a2"]
    assert bench.takes("a1", "a2", "b0") == 2


def test_what_is_cleared_is_not_woken_and_its_turns_are_there_again(make: Make) -> None:
    bench = make(1, 1)
    bench.do(lambda: bench.line.admit("a0"), lambda: bench.line.admit("a1"))
    bench.do(bench.line.clear)
    bench.loop.turn(100.0)

    assert bench.woken == []
    assert bench.takes("b0") == 1


@given(
    st.floats(0.1, 1000),
    st.integers(1, 50),
    st.lists(st.tuples(st.floats(0, 20), st.integers(1, 60)), max_size=20),
)
def test_no_more_turns_are_taken_than_burst_and_rate_allow(
    rate: float, burst: int, asked: list[tuple[float, int]]
) -> None:
    bench = Bench(rate, burst)
    began, total = bench.loop.time(), 0
    for pause, tries in asked:
        bench.loop.turn(pause)
        total += bench.takes(*dict.fromkeys([*bench.woken, *keys("a", tries)]))
        bench.woken.clear()
        assert total <= burst + (bench.loop.time() - began) * rate + 1e-3
    bench.line.clear()
    bench.loop.close()


def test_each_kind_of_write_has_a_line_of_its_own_and_one_without_a_rate_never_waits() -> None:
    loop = TurnedLoop()
    pacer: Pacer[str, str] = Pacer(loop.clock, {"roll": Rate(1, 1), "record": Rate(1, 1)})
    woken: list[str] = []
    pacer.on_turn("roll", woken.append)
    pacer.on_turn("other", woken.append)

    def called() -> None:
        for write in ("roll", "record"):
            assert pacer.wait("a", write) == 0
            pacer.take("a", write)
        assert pacer.wait("b", "roll") == 1
        assert not pacer.admit("b", "record")
        pacer.leave("b", "record")
        assert pacer.wait("b", "other") == 0
        assert pacer.admit("b", "other")

    loop.inside(called)
    loop.turn(1.0)
    assert woken == ["b"]
    pacer.clear()
    loop.close()


def test_delays_double_with_each_failure_in_a_row_up_to_a_limit() -> None:
    backoff = Backoff(StillClock(), first=0.5, most=3.0)

    assert [backoff.failed("a") for _ in range(5)] == [0.5, 1.0, 2.0, 3.0, 3.0]
    assert backoff.failed("b") == 0.5
    backoff.succeeded("a")
    assert backoff.failed("a") == 0.5


def test_a_server_that_names_a_time_is_given_that_time() -> None:
    backoff = Backoff(StillClock(), first=0.5)

    assert backoff.failed("a", at_least=7.0) == 7.0
    assert Backoff(StillClock(), first=9.0).failed("a", at_least=7.0) == 9.0


def test_it_goes_on_for_ever_with_jitter() -> None:
    backoff = Backoff(SystemClock(), first=0.2, most=60.0)

    delays = [backoff.failed("a") for _ in range(2000)]

    assert 0.1 <= delays[0] <= 0.2
    assert all(30.0 <= delay <= 60.0 for delay in delays[10:])
    assert len(set(delays[10:])) > 1000


def test_what_succeeded_is_not_remembered() -> None:
    backoff = Backoff(StillClock())
    for number in range(100):
        backoff.failed(number)
        backoff.succeeded(number)
    backoff.succeeded("never failed")

    assert not backoff._failures


def answers(ease: Ease, clock: StillClock, seconds: float, count: int) -> None:
    for _ in range(count):
        clock.move(0.1)
        ease.answered(seconds)


def test_slow_answers_ease_the_rate_and_quick_ones_give_it_back() -> None:
    clock = StillClock()
    ease = Ease(clock)
    answers(ease, clock, 0.01, 10)
    assert ease.part == 1
    answers(ease, clock, 0.5, 200)
    assert ease.part == Ease.LEAST
    answers(ease, clock, 0.01, 200)
    assert ease.part == 1


def test_a_server_that_is_always_slow_is_the_usual_one() -> None:
    clock = StillClock()
    ease = Ease(clock)
    answers(ease, clock, 0.5, 500)
    assert ease.part == 1


def test_a_few_slow_answers_are_none_of_it() -> None:
    clock = StillClock()
    ease = Ease(clock)
    answers(ease, clock, 0.01, 10)
    ease.answered(0.2)
    assert ease.part == 1


def test_slow_answers_of_one_share_are_its_own_matter() -> None:
    clock = StillClock()
    ease = Ease(clock)
    for _ in range(200):
        clock.move(0.1)
        ease.answered(0.01, "quick")
        ease.answered(9.0, "slow")
    assert ease.part == 1
    for _ in range(200):  # All of them: it is the server.
        clock.move(0.1)
        ease.answered(0.5, "quick")
        ease.answered(9.0, "slow")
    assert ease.part == Ease.LEAST
    clock.move(Ease.LATELY + 1)  # Who was slow and is gone does not count.
    answers(ease, clock, 0.01, 200)
    assert ease.part == 1
    assert len(ease._shares) == 1


def test_no_more_shares_are_counted_than_there_is_room_for() -> None:
    ease = Ease(StillClock())
    for number in range(1000):
        ease.answered(0.01, f"share-{number}")
    assert len(ease._shares) == Ease.SHARES


def test_the_turns_of_a_line_come_as_the_ease_allows(
    make: Callable[[float, int], Bench],
) -> None:
    bench = make(100, 20)
    assert bench.takes(*(f"a{number}" for number in range(40))) == 20
    bench.line._ease.part = 0.1
    bench.loop.turn(1.0)
    assert len(bench.woken) == 10


def test_a_burst_that_made_the_server_slow_takes_nothing_from_the_next(
    make: Callable[[float, int], Bench],
) -> None:
    bench = make(100, 50)
    assert bench.takes(*(f"a{number}" for number in range(40))) == 40
    bench.line._ease.part = 0.1
    bench.loop.turn(0.4)
    assert bench.takes(*(f"b{number}" for number in range(60))) == 50


def passing(bench: Bench, seconds: float) -> list[str]:
    """Who had a turn in that time."""
    taken: list[str] = []
    for _ in range(round(seconds / 0.05)):
        bench.loop.turn(0.05)
        bench.takes(*bench.woken)
        taken += bench.woken
        bench.woken.clear()
    return taken


def flapping(bench: Bench, keys: int, times: int = 6) -> None:
    """A share whose keys come again while others of it wait for their first turn."""
    names = [f"a{number}" for number in range(keys)]
    assert bench.takes(*names) < keys
    had = passing(bench, 0.1)
    bench.waits(*had)
    for _ in range(times):
        bench.do(*(lambda name=name: bench.line.recurs(name) for name in names))


def test_a_share_that_flaps_rests_while_answers_are_slow(
    make: Callable[[float, int], Bench],
) -> None:
    bench = make(100, 20)
    flapping(bench, 500)
    bench.line._ease.part, bench.line._ease.again = 0.5, 0.05
    assert 4 <= len(passing(bench, 1.0)) <= 7, "five in a second, and not fifty"
    assert bench.takes("b1", "c1", "b2") == 3, "others do not wait behind it"
    bench.line._ease.part = bench.line._ease.again = 1.0
    assert len(passing(bench, 1.3)) >= 100, "with quick answers it has the whole rate"


def test_a_share_that_comes_once_does_not_rest_however_long_it_takes(
    make: Callable[[float, int], Bench],
) -> None:
    bench = make(100, 20)
    assert bench.takes(*(f"a{number}" for number in range(300))) == 20
    bench.line._ease.part, bench.line._ease.again = 0.5, 0.05
    assert 48 <= len(passing(bench, 1.0)) <= 51


def test_a_share_flaps_no_more_when_all_of_it_had_their_turn(
    make: Callable[[float, int], Bench],
) -> None:
    bench = make(100, 20)
    flapping(bench, 50)
    assert "a" in bench.line._returns
    passing(bench, 1.0)
    assert "a" not in bench.line._returns
    assert not bench.line._returns._keys


def test_a_change_that_is_corrected_while_others_wait_is_no_flapping(
    make: Callable[[float, int], Bench],
) -> None:
    bench = make(100, 20)
    flapping(bench, 300, times=1)
    bench.line._ease.part, bench.line._ease.again = 0.5, 0.05
    assert 48 <= len(passing(bench, 1.0)) <= 51


def test_names_that_come_and_go_are_not_counted_for_ever() -> None:
    returns: Returns[str] = Returns()
    for number in range(3 * Returns.MOST):
        returns.came("a", f"a{number}")
        assert "a" not in returns
    assert len(returns._keys["a"]) <= Returns.MOST
    returns.ended("a")
    assert (returns._keys, returns._came) == ({}, {})


def test_a_share_that_rested_long_ago_waits_for_no_other_that_did(
    make: Callable[[float, int], Bench],
) -> None:
    bench = make(10, 100)
    shares = "abcdefghij"
    bench.line._ease.part, bench.line._ease.again = 0.5, 0.05
    for _ in range(8):
        bench.do(*(lambda one=one: bench.line.admit(f"{one}1") for one in shares))
    bench.do(*(lambda one=one: bench.line.admit(f"{one}2") for one in shares))
    bench.do(
        *(lambda one=one, n=n: bench.line.leave(f"{one}{n}") for one in shares for n in (1, 2))
    )
    assert all(bench.line._waiting.rests(one) for one in shares)

    bench.loop.turn(60)

    bench.do(lambda: bench.line.admit("j3"))
    bench.loop.turn()
    assert bench.line.admit("j3")
    bench.loop.turn(60)


def test_keys_that_come_again_before_they_take_their_turns_flap(
    make: Callable[[float, int], Bench],
) -> None:
    """However large the burst is: they are those that no worker has got to."""
    bench = make(10, 1_000)
    keys = [f"a{n}" for n in range(100)]
    for _ in range(6):
        bench.do(*(lambda key=key: bench.line.admit(key) for key in keys))
    bench.line._ease.part, bench.line._ease.again = 0.5, 0.05
    assert "a" in bench.line._returns

    for key in keys[:50]:
        bench.line.take(key)
    admitted = bench.do(*(lambda key=key: bench.line.admit(key) for key in keys[:50]))
    assert admitted == [True, *[False] * 49]
    assert bench.do(lambda: bench.line.admit("b1")) == [True]

    bench.do(*(lambda key=key: bench.line.leave(key) for key in keys))
    assert "a" not in bench.line._returns
