"""The three chains: their order, which acts need which permission, and what is true of all rows."""

import inspect
from datetime import timedelta
from typing import Any, get_args

import msgspec
import pytest
from tests.core.build import EAGER, NOW, configmap, content, reference, secret, snapshot

from reroll.core.decide import case, permission, pin_state
from reroll.core.decide.actions import Edit
from reroll.core.decide.chains import GATES, answers, decide
from reroll.core.decide.draft import Act
from reroll.core.decide.permission import PERMISSION
from reroll.core.decide.roll import ACTIONS
from reroll.core.decide.standing import STANDING
from reroll.core.decide.writing import WRITING
from reroll.core.model.digest import reference_digest
from reroll.core.model.moment import Moment
from reroll.core.model.record import Record, Todo
from reroll.core.observe.snapshot import Absence, Snapshot
from reroll.core.policy.policy import Hold, Pause, Repair
from reroll.core.policy.references import Use
from reroll.core.tables.kinds import Strategy
from reroll.core.tables.reasons import Reason
from reroll.core.write import patches

APP, DB = reference(configmap("app")), reference(secret("db"))
NEW = content({"a": "new"}, Moment(200, 201, NOW))
OLD = Record(n=5, at=NOW, why="Adopted", s={"configmap/app": "old"})
CURRENT = msgspec.structs.replace(OLD, s={"configmap/app": reference_digest(APP, NEW, "") or ""})
PINS = "configmap/app=app-0000000000"
SOON = NOW + timedelta(seconds=5)


def names(rows: Any) -> list[str]:
    return [row.__name__ for row in rows]


def test_the_order_of_the_first_chain() -> None:
    """Each row may stop what those below it would do: changing the order changes behaviour."""
    assert names(STANDING) == ["ended", "not_enabled", "crowded", "unread"]


def test_the_order_of_the_second_chain() -> None:
    """The first row that applies decides: changing the order changes behaviour."""
    assert names(WRITING) == [
        "stranded",
        "pause_over",
        "opting_out",
        "new_here",
        "went_back",
        "record_lost",
        "tries_nothing",
        "unfinished",
        "unrecorded",
        "other_pins",
        "copy_missing",
        "went_bad",
        "on_trial",
        "gave_up",
        "held_at",
        "unchanged",
        "looking_back",
        "rolled_elsewhere",
        "no_pods",
        "unpinned",
        "stale",
    ]


ACTS = (
    *(Act.RECORD, Act.RESTORE, Act.REPAIR, Act.CONTINUE),
    *(Act.RECORD_IDLE, Act.UNPIN, Act.PIN, Act.ROLL, Act.RELEASE, Act.BACK),
)
NEEDED = {
    # ................ record restore repair continue idle unpin pin roll release back
    "contested": "     -      -       -      -        -    -     yes -    -       -",
    "fought_over": "   -      yes     -      -        -    -     -   -    -       -",
    "source_missing": "-      -       yes    yes      yes  -     yes yes  yes     -",
    "out_of_reach": "  -      -       -      -        -    -     -   yes  -       -",
    "held": "          -      -       -      yes      yes  yes   yes yes  yes     yes",
    "source_held": "   -      -       -      -        yes  -     -   yes  -       -",
    "paused": "        -      -       -      -        -    yes   yes yes  yes     -",
    "stopped": "       -      -       -      -        -    -     -   yes  -       -",
    "frozen": "        -      -       -      -        -    yes   yes yes  -       -",
    "window_closed": " -      -       -      -        -    yes   yes yes  -       -",
    "flapping": "      -      -       -      -        -    -     -   yes  -       -",
    "cooling_down": "  -      -       -      -        -    -     -   yes  -       -",
    "resting": "       -      -       -      -        -    -     yes yes  -       -",
    "debouncing": "    -      -       -      -        -    yes   yes yes  -       -",
    "unapproved": "    -      -       -      -        -    -     -   yes  yes     -",
    "after_others": "  -      -       -      -        -    -     -   yes  -       -",
    "no_room": "       -      -       -      -        -    -     -   yes  -       -",
    "gated": "         -      -       -      -        -    -     -   yes  -       -",
    "on_canary": "     -      -       -      -        -    -     -   yes  -       -",
    "paced": "         yes    yes     -      -        yes  yes   yes yes  yes     -",
}


def test_the_order_of_permissions_and_which_acts_need_which() -> None:
    """What is held back by the first that does not give its permission says so."""
    assert names(row.check for row in PERMISSION) == list(NEEDED)
    for row in PERMISSION:
        words = NEEDED[row.check.__name__].split()
        needed = {act for act, word in zip(ACTS, words, strict=True) if word == "yes"}
        assert row.acts == needed, row.check.__name__
    assert set(Act) == {*ACTS, Act.NOTHING}


def test_no_permission_asks_another() -> None:
    checks = {row.check.__name__ for row in PERMISSION}
    for row in PERMISSION:
        assert not checks & set(inspect.unwrap(row.check).__code__.co_names)
    assert checks <= set(vars(permission))


def test_the_names_that_explain_shows_are_those_of_all_rows_that_can_hold() -> None:
    rows = (*STANDING, *WRITING[:-1], *(row.check for row in PERMISSION))
    assert list(GATES) == [name.replace("_", " ") for name in names(rows)]
    assert [one.gate for one in answers(snapshot({APP: NEW}, OLD), NOW)] == list(GATES)


def test_every_strategy_says_what_it_does() -> None:
    assert set(ACTIONS) == set(Strategy)


def test_every_edit_can_be_written() -> None:
    assert set(patches._EDITS) == set(get_args(Edit))


# Permissions


def look(record: Record = OLD, there: Any = NEW, **more: Any) -> Snapshot:
    """One that rolls, unless something holds it."""
    policy = msgspec.structs.replace(EAGER, **more.pop("policy", {}))
    return snapshot({APP: there}, record, policy=policy, **more)


REVISED = {"revisions": True}
STRANDED = Repair("note", "", "schedulerName", "none", "default-scheduler", waits=True)
PINNED = msgspec.structs.replace(CURRENT, pins=PINS)
CONTESTED = msgspec.structs.replace(CURRENT, why="Pinned", rolled=NOW, pins=PINS)
UNPINS = {"pins": {("ConfigMap", "app"): "app-0000000000"}, "pins_text": PINS}
EVICTING = msgspec.structs.replace(CURRENT, todo=Todo("evict", NOW))
RESTED = msgspec.structs.replace(OLD, rolled=NOW)
GONE = {APP: NEW, DB: Absence.MISSING}
IDLE = {"still": True, "idle": True}
HELD = {"hold": Hold(SOON)}
RELOADS = {"strategy": Strategy.RELOAD}
IN_ENV = Use("ConfigMap", "app", "env A of container web", frozenset("a"))
IN_A_FILE = Use("ConfigMap", "app", "volume app of container web", live=True)
IN_ANOTHER = Use("ConfigMap", "other", "env B of container web")
HOLDS: dict[str, tuple[Snapshot, Reason]] = {
    "a roll whose sources are missing": (snapshot(GONE, OLD), Reason.SOURCE_MISSING),
    "a reload of what is in the environment": (
        look(policy=RELOADS, changes={"uses": (IN_ENV,)}), Reason.OUT_OF_REACH,
    ),
    "a roll that is held": (look(policy=HELD), Reason.HELD),
    "a roll of what is paused": (look(changes={"still": True}), Reason.PAUSED),
    "a roll after a roll": (
        look(RESTED, policy={"pause": Pause(timedelta(1), "mark"), "strategy": Strategy.EVICT}),
        Reason.RESTING,
    ),
    "a roll right after the change": (
        look(policy={"debounce": timedelta(seconds=1)}), Reason.DEBOUNCING,
    ),
    "a roll before its turn": (look(turn_at=SOON), Reason.PACED),
    "a record before its turn": (
        look(msgspec.structs.replace(CURRENT, s={}), turn_at=SOON), Reason.PACED,
    ),
    "a record for pods that start later, before its turn": (
        look(changes=IDLE, turn_at=SOON), Reason.PACED,
    ),
    "pins that were just removed": (look(CONTESTED, policy=REVISED), Reason.PINS_REMOVED),
    "pins that are held": (look(PINNED, policy=REVISED | HELD), Reason.HELD),
    "pins before their turn": (look(PINNED, policy=REVISED, turn_at=SOON), Reason.PACED),
    "unpinning that is held": (look(PINNED, policy=HELD, changes=UNPINS), Reason.HELD),
    "unpinning of what is paused": (
        look(PINNED, changes=UNPINS | {"still": True}), Reason.PAUSED,
    ),
    "unpinning before its turn": (look(PINNED, changes=UNPINS, turn_at=SOON), Reason.PACED),
    "evictions that are held": (look(EVICTING, policy=HELD), Reason.HELD),
    "evictions for pods that could not start": (
        look(EVICTING, Absence.MISSING), Reason.SOURCE_MISSING,
    ),
    "a repair for pods that could not start": (
        look(there=Absence.MISSING, policy={"repair": STRANDED}), Reason.SOURCE_MISSING,
    ),
    "a record for pods that start later, held": (look(changes=IDLE, policy=HELD), Reason.HELD),
}  # fmt: skip


@pytest.mark.parametrize(("seen", "reason"), HOLDS.values(), ids=HOLDS)
def test_what_a_permission_holds_has_no_actions(seen: Snapshot, reason: Reason) -> None:
    plan = decide(seen, NOW)

    assert (plan.reason, plan.actions, plan.strategy) == (reason, (), None)
    assert [one.gate for one in answers(seen, NOW) if one.holds][-1] in {
        row.check.__name__.replace("_", " ") for row in PERMISSION
    }


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        (look(CURRENT), Reason.UP_TO_DATE),
        (look(changes={"ended": True}), Reason.ENDED),
        (look(policy={"enabled": None}), Reason.NOT_ENABLED),
        (look(policy={"enabled": False}), Reason.OPTED_OUT),
        (look(there=Absence.UNREAD), Reason.WAITING),
    ],
    ids=lambda value: value.word if isinstance(value, Reason) else "",
)
def test_where_there_is_nothing_to_do_there_are_no_actions(seen: Snapshot, reason: Reason) -> None:
    plan = decide(seen, NOW)

    assert (plan.reason, plan.actions, plan.look_at) == (reason, (), None)
    assert sum(one.holds is True for one in answers(seen, NOW)) == 1


GIVEN: dict[str, tuple[Snapshot, Reason]] = {
    "evictions go on before another roll's turn": (look(EVICTING, turn_at=SOON), Reason.CONTINUED),
    "what is there is adopted while it is held": (
        snapshot({APP: content({"a": "x"}, Moment(by=90))}, policy=msgspec.structs.replace(
            EAGER, **HELD)), Reason.ADOPTED,
    ),
    "unpinning does not depend on sources": (
        snapshot({APP: NEW, DB: Absence.MISSING}, PINNED, changes=UNPINS), Reason.UNPINNED,
    ),
    "a file is reloaded": (
        look(policy=RELOADS, changes={"uses": (IN_A_FILE, IN_ANOTHER)}), Reason.CONFIG_CHANGED,
    ),
    "what is in the environment is replaced": (
        look(changes={"uses": (IN_ENV,)}), Reason.CONFIG_CHANGED,
    ),
    "its turn has come": (look(turn_at=NOW), Reason.CONFIG_CHANGED),
}  # fmt: skip


@pytest.mark.parametrize(("seen", "reason"), GIVEN.values(), ids=GIVEN)
def test_what_needs_no_permission_or_has_it_is_done(seen: Snapshot, reason: Reason) -> None:
    plan = decide(seen, NOW)

    assert plan.reason is reason
    assert plan.actions


def test_a_roll_waits_for_its_turn_and_is_looked_at_then() -> None:
    assert decide(look(turn_at=SOON), NOW).look_at == SOON
    assert decide(look(turn_at=SOON), SOON).reason is Reason.CONFIG_CHANGED


def test_a_pause_of_ours_that_ends_earlier_is_looked_at_when_it_ends() -> None:
    pause = Pause(timedelta(seconds=3), "mark", since=NOW)
    paced = look(changes={"still": True}, policy={"pause": pause}, turn_at=SOON)

    assert decide(paced, NOW).look_at == NOW + timedelta(seconds=3)


# What each row says


def said(seen: Snapshot) -> dict[str, bool | None]:
    return {one.gate: one.holds for one in answers(seen, NOW)}


def test_no_row_holds_a_roll() -> None:
    assert set(said(look()).values()) == {False}


def test_rows_after_the_one_that_settles_the_matter_are_not_asked() -> None:
    for seen, last in ((look(CURRENT), "unchanged"), (look(policy=HELD), "held")):
        rows = list(said(seen).items())
        place = GATES.index(last)
        assert {holds for _, holds in rows[:place]} == {False}
        assert rows[place] == (last, True)
        assert {holds for _, holds in rows[place + 1 :]} == {None}


def test_what_has_to_be_written_and_what_holds_it_are_both_said() -> None:
    unpinning = said(look(PINNED, policy=HELD, changes=UNPINS))

    assert [gate for gate, holds in unpinning.items() if holds] == ["opting out", "held"]
    assert unpinning["new here"] is None
    assert unpinning["source missing"] is False


# What a decision computes


@pytest.mark.parametrize(
    "seen",
    [look(), look(CURRENT), look(PINNED, policy=REVISED), look(PINNED, changes=UNPINS)],
    ids=["a roll", "no change", "pins", "unpinning"],
)
def test_the_state_of_the_pins_is_computed_once(
    seen: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Snapshot] = []
    compute = pin_state.pin_state

    def counted(snapshot: Snapshot) -> pin_state.PinState:
        calls.append(snapshot)
        return compute(snapshot)

    for module in (pin_state, case):
        monkeypatch.setattr(module, "pin_state", counted)
    decide(seen, NOW)

    assert calls == [seen]
