"""Sources that say `revisions: "false"`: workloads with revisions roll for them, without a copy."""

import msgspec
import pytest
from tests.core import build
from tests.core.build import NOW
from tests.core.decide.test_decide_revisions import (
    APP,
    DB,
    DB_ONE,
    LATER,
    ONE,
    TWO,
    decided,
    name,
    pins,
    record,
    written,
)

from reroll.core.model.content import Content
from reroll.core.model.key import Key
from reroll.core.observe.snapshot import History
from reroll.core.tables.kinds import KINDS, Kind, Strategy
from reroll.core.tables.reasons import Reason

OTHER = build.content({"p": "y"}, LATER)
PINNED = [kind for kind in KINDS if not kind.fixed]


def plain(held: Content) -> Content:
    return msgspec.structs.replace(held, unpinned=True)


def test_it_gets_no_copy_and_no_pin() -> None:
    first = decided({APP: ONE, DB: plain(DB_ONE)}, None)
    then = decided({APP: ONE, DB: plain(DB_ONE)}, first.record)
    assert build.copies(then) == ((APP.source, name(APP, ONE)),)
    assert written(then) == (pins(ONE), pins(ONE))
    assert decided({APP: ONE, DB: plain(DB_ONE)}, then.record, pins(ONE)).strategy is None


@pytest.mark.parametrize("kind", PINNED, ids=lambda kind: kind.name)
def test_a_change_of_it_rolls_and_leaves_the_pins_of_others(kind: Kind) -> None:
    last = record({APP: ONE, DB: DB_ONE}, pins(ONE))
    found = decided({APP: ONE, DB: plain(OTHER)}, last, pins(ONE), kind=kind)
    assert found.reason is Reason.CONFIG_CHANGED
    assert written(found) == (pins(ONE), pins(ONE))
    if found.strategy is Strategy.STAMP:
        assert [mark.value for mark in build.marks(found)] == [found.stamp]


def test_a_pin_that_it_has_already_goes_with_the_next_roll_and_rolls_nothing_itself() -> None:
    there = pins(ONE, DB_ONE)
    last = record({APP: ONE, DB: DB_ONE}, there)
    still = decided({APP: ONE, DB: plain(DB_ONE)}, last, there)
    assert (still.reason, still.actions) == (Reason.UP_TO_DATE, ())

    of_another = decided({APP: TWO, DB: plain(DB_ONE)}, last, there)
    assert written(of_another) == (pins(TWO), pins(TWO))
    of_itself = decided({APP: ONE, DB: plain(OTHER)}, last, there)
    assert written(of_itself) == (pins(ONE), pins(ONE))


def test_a_template_that_an_undo_brought_back_loses_its_old_content_at_once() -> None:
    last = record({APP: ONE, DB: OTHER}, pins(ONE))
    found = decided({APP: ONE, DB: plain(OTHER)}, last, pins(ONE, DB_ONE))
    assert found.reason is Reason.PINNED
    assert written(found) == (pins(ONE), pins(ONE))


def test_an_undo_to_a_template_without_its_pin_has_the_current_content() -> None:
    there = record({APP: ONE, DB: DB_ONE}, pins(ONE))
    left = msgspec.structs.replace(record({APP: TWO, DB: OTHER}, pins(TWO)), n=there.n + 1)
    found = decided(
        {APP: TWO, DB: plain(OTHER)},
        there,
        pins(ONE),
        history=History(latest=left, left=True),
    )
    assert (found.reason, build.pins(found)) == (Reason.UNDONE, None)
    assert found.record is not None
    assert found.record.s == left.s
    assert found.record.held == NOW


def test_a_copy_that_was_lost_is_no_longer_needed() -> None:
    there = pins(ONE, DB_ONE)
    gone = frozenset({Key("Secret", "shop", there["Secret", "db"])})
    last = record({APP: ONE, DB: OTHER}, there)
    found = decided({APP: ONE, DB: plain(OTHER)}, last, there, copies_missing=gone)
    assert written(found)[0] == pins(ONE)
