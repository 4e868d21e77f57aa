"""Rolls are spread over time, and failures are answered with patience."""

from hypothesis import given
from hypothesis import strategies as st
from tests.kube.fakes import StillClock

from reroll.clock import SystemClock
from reroll.controller.pace import Backoff, Pacer


def granted(pacer: Pacer, tries: int) -> int:
    """How many of so many different keys have their turn now; the others leave the line."""
    count = 0
    for key in range(tries):
        if pacer.wait(key) == 0:
            pacer.take(key)
            count += 1
        else:
            pacer.leave(key)
    return count


def test_a_burst_goes_at_once_and_then_the_rate_counts() -> None:
    clock = StillClock()
    pacer = Pacer(clock, rate=10, burst=5)

    assert granted(pacer, 100) == 5
    clock.move(1.0)
    assert granted(pacer, 4) == 4
    clock.move(1000.0)
    assert granted(pacer, 100) == 5


def test_a_key_that_has_to_wait_keeps_its_place_and_takes_nothing() -> None:
    clock = StillClock()
    pacer = Pacer(clock, rate=2, burst=1)
    assert pacer.wait("first") == 0
    pacer.take("first")

    assert [pacer.wait(key) for key in "abca"] == [0.5, 1.0, 1.5, 0.5]
    clock.move(0.5)
    assert pacer.wait("b") == 0.5
    assert pacer.wait("a") == 0
    pacer.take("a")
    clock.move(0.5)
    assert pacer.wait("b") == 0


def test_a_key_that_does_not_come_back_keeps_nobody_waiting() -> None:
    clock = StillClock()
    pacer = Pacer(clock, rate=1, burst=1)
    pacer.take("first")
    assert [pacer.wait("gone"), pacer.wait("b")] == [1.0, 2.0]

    clock.move(30.0)

    assert pacer.wait("b") == 0


def test_a_key_that_leaves_the_line_makes_room() -> None:
    pacer = Pacer(StillClock(), rate=1, burst=1)
    pacer.take("first")
    assert [pacer.wait("a"), pacer.wait("b")] == [1.0, 2.0]

    pacer.leave("a")

    assert pacer.wait("b") == 1.0


@given(
    st.floats(0.1, 1000),
    st.integers(1, 50),
    st.lists(st.tuples(st.floats(0, 20), st.integers(1, 60)), max_size=20),
)
def test_no_stretch_of_time_ever_has_more_than_burst_and_rate_allow(
    rate: float, burst: int, asked: list[tuple[float, int]]
) -> None:
    clock = StillClock()
    pacer = Pacer(clock, rate, burst)
    began, total = clock.seconds, 0
    for pause, tries in asked:
        clock.move(pause)
        total += granted(pacer, tries)
        assert total <= burst + (clock.seconds - began) * rate + 1e-6


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
