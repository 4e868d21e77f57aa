"""Who may lead, decided from plain values."""

import pytest
from msgspec.structs import replace

from reroll.kube.election import Move, Record, Timing, View, decide, observe, renewed

TIMING = Timing(lease_duration=15, renew_deadline=10, retry_period=2)
THEIRS = Record("bob", 15, "a", "r1", 3)
OURS = Record("ann", 15, "a", "r1", 3)
FREE = Record("", 1, "a", "r1", 3)

TABLE = {
    "no lease yet": (View(), 100, Move.CREATE),
    "a lease that was given up": (View(FREE, 100), 100, Move.TAKE),
    "a lease without a holder": (View(Record(), 100), 100, Move.TAKE),
    "a lease of ours from before a restart": (View(OURS, 100), 100, Move.TAKE),
    "another's lease, fresh": (View(THEIRS, 100), 114.9, Move.WAIT),
    "another's lease, not renewed for as long as it is good": (View(THEIRS, 100), 115, Move.TAKE),
    "another's lease that says it is good for longer than ours would be": (
        View(Record("bob", 60, "a", "r1", 3), 100),
        159,
        Move.WAIT,
    ),
    "another's lease that does not say how long it is good": (
        View(Record("bob"), 100),
        114.9,
        Move.WAIT,
    ),
    "our lease, renewed just now": (View(OURS, 100, renewed_at=100), 102, Move.RENEW),
    "our lease, not renewed until the deadline": (View(OURS, 100, renewed_at=100), 110, Move.LOST),
    "our lease, taken by another": (View(THEIRS, 105, renewed_at=100), 105, Move.LOST),
    "our lease, deleted by someone": (View(None, 105, renewed_at=100), 105, Move.RENEW),
    "our lease, emptied by someone": (View(FREE, 105, renewed_at=100), 105, Move.RENEW),
}


@pytest.mark.parametrize(("view", "now", "move"), TABLE.values(), ids=TABLE.keys())
def test_decide(view, now, move):
    assert decide(view, "ann", TIMING, now) is move


def test_the_holder_stops_before_anyone_may_take_over():
    sent_at, seen_by_others_at = 100.0, 100.0  # the earliest they can see what was sent then
    ours, theirs = View(OURS, sent_at, renewed_at=sent_at), View(OURS, seen_by_others_at)

    for now in (100 + step / 10 for step in range(300)):
        leads = decide(ours, "ann", TIMING, now) is Move.RENEW
        may_take = decide(theirs, "bob", TIMING, now) is Move.TAKE
        assert not (leads and may_take)


def test_only_a_changed_record_starts_its_time_anew():
    view = View(THEIRS, 100)

    assert observe(view, THEIRS, 110) == view
    assert observe(view, Record("bob", 15, "a", "r2", 3), 110).observed_at == 110


def test_the_lease_keeps_the_time_of_taking_and_counts_who_came_after_whom():
    first = renewed(None, "ann", TIMING, "t1")
    again = renewed(first, "ann", TIMING, "t2")
    taken = renewed(again, "bob", TIMING, "t3")

    assert first == Record("ann", 15, "t1", "t1", 0)
    assert again == Record("ann", 15, "t1", "t2", 0)
    assert taken == Record("bob", 15, "t3", "t3", 1)


@pytest.mark.parametrize("times", [(10, 10, 2), (15, 2, 2), (15, 10, 0)])
def test_times_that_would_let_two_lead_are_refused(times):
    with pytest.raises(ValueError, match="lease_duration > renew_deadline > retry_period"):
        Timing(*times)


def test_the_declared_time_is_never_shorter_than_the_real_one():
    assert replace(TIMING, lease_duration=15.2).declared_duration == 16
