"""Decisions about workloads with revisions, on a single look."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest
from tests.core import build
from tests.core.build import EAGER, KIND, NOW, configmap, content, reference, secret, snapshot

from reroll.core.decide.chains import decide
from reroll.core.decide.pin_state import released
from reroll.core.decide.plan import Plan
from reroll.core.decide.roll import restart
from reroll.core.dialects.table import ALL
from reroll.core.model.content import Content
from reroll.core.model.digest import reference_digest
from reroll.core.model.key import Key
from reroll.core.model.moment import Moment
from reroll.core.model.record import Record
from reroll.core.model.reference import Reference
from reroll.core.observe.snapshot import Absence, History, Keys, Snapshot
from reroll.core.policy.policy import Hold
from reroll.core.revisions.copies import TOKEN, copy_name
from reroll.core.revisions.pins import read_pins, write_pins
from reroll.core.tables.kinds import KINDS, Kind, Strategy
from reroll.core.tables.reasons import Reason
from reroll.core.write.patches import patch

POLICY = msgspec.structs.replace(EAGER, revisions=True)
APP, DB = reference(configmap("app")), reference(secret("db"))
LATER = Moment(200, 201, NOW)
ONE, TWO = content({"a": "1"}, Moment(by=90)), content({"a": "2"}, LATER)
DB_ONE = content({"p": "x"}, Moment(by=90))
Pins = dict[tuple[str, str], str]


def name(one: Reference, held: Content, key_id: str = "") -> str:
    found = copy_name(one.source, held, key_id)
    assert found is not None
    return found


def pins(app: Content | None = ONE, db: Content | None = None) -> Pins:
    found: Pins = {}
    if app:
        found["ConfigMap", "app"] = name(APP, app)
    if db:
        found["Secret", "db"] = name(DB, db)
    return found


def record(held: dict[Reference, Content], recorded: Pins | None, **more: Any) -> Record:
    digests = {one.entry("shop"): reference_digest(one, c, "") or "" for one, c in held.items()}
    text = None if recorded is None else write_pins(recorded)
    more = {"n": int(NOW.timestamp()) - 60, "why": "ConfigChanged", **more}
    return Record(at=NOW - timedelta(minutes=1), s=digests, pins=text, **more)


def seen(
    sources: dict[Reference, Content | Absence],
    last: Record | None,
    template: Pins | None = None,
    *,
    kind: Kind = KINDS[0],
    policy: Any = POLICY,
    changes: dict[str, Any] | None = None,
    **more: Any,
) -> Snapshot:
    text = write_pins(template) if template else None
    given = {"pins": template or {}, "pins_text": text, **(changes or {})}
    return snapshot(sources, last, kind=kind, policy=policy, changes=given, **more)


def decided(*args: Any, **more: Any) -> Plan:
    return decide(seen(*args, **more), NOW)


def written(found: Plan) -> tuple[Pins, Pins]:
    """The pins of the template and of the record."""
    text = build.pins(found)
    assert text is not None
    assert found.record is not None
    return read_pins(text), read_pins(found.record.pins or "")


def test_a_template_without_pins_gets_them_once_and_the_record_comes_first() -> None:
    first = decided({APP: ONE}, None)
    assert (first.reason, build.pins(first), first.strategy) == (Reason.ADOPTED, None, None)
    assert first.record is not None
    assert read_pins(first.record.pins or "") == pins()

    then = decided({APP: ONE}, first.record)
    assert (then.reason, then.strategy, build.marks(then)) == (Reason.PINNED, Strategy.STAMP, ())
    assert then.message.count(Reason.PINNED.sentence) == 1
    assert build.copies(then) == ((APP.source, name(APP, ONE)),)
    assert written(then) == (pins(), pins())
    assert decided({APP: ONE}, then.record, pins()).reason is Reason.UP_TO_DATE


def test_a_change_pins_what_changed_and_leaves_the_rest() -> None:
    last = record({APP: ONE, DB: DB_ONE}, pins(ONE, DB_ONE))
    found = decided({APP: TWO, DB: DB_ONE}, last, pins(ONE, DB_ONE))
    assert found.reason is Reason.CONFIG_CHANGED
    assert written(found) == (pins(TWO, DB_ONE), pins(TWO, DB_ONE))


def test_keys_that_do_not_matter_keep_their_copy_when_something_else_rolls() -> None:
    only_a = reference(configmap("app"), "a")
    before, after = content({"a": "1", "b": "1"}), content({"a": "1", "b": "2"})
    other = content({"p": "y"}, LATER)
    old = {**pins(before), ("Secret", "db"): name(DB, DB_ONE)}
    found = decided({only_a: after, DB: other}, record({only_a: before, DB: DB_ONE}, old), old)
    assert written(found)[0] == {**pins(before), ("Secret", "db"): name(DB, other)}
    gone = frozenset({Key("ConfigMap", "shop", pins(before)["ConfigMap", "app"])})
    again = decided(
        {only_a: after, DB: other}, record({only_a: before, DB: DB_ONE}, old), old,
        copies_missing=gone,
    )  # fmt: skip
    assert written(again)[0] == {**pins(after), ("Secret", "db"): name(DB, other)}


def test_a_source_that_may_not_be_read_at_the_moment_keeps_its_pin() -> None:
    there, other = pins(ONE, DB_ONE), content({"p": "y"}, LATER)
    last = record({APP: ONE, DB: DB_ONE}, there)
    found = decided({APP: Absence.FORBIDDEN, DB: other}, last, there)
    assert found.reason is Reason.CONFIG_CHANGED
    assert written(found) == (pins(ONE, other), pins(ONE, other))

    lacking = decided({APP: Absence.FORBIDDEN, DB: DB_ONE}, last, pins(ONE))
    assert lacking.reason is Reason.PINNED
    assert written(lacking) == (there, there)

    gone = frozenset({Key("ConfigMap", "shop", there["ConfigMap", "app"])})
    lost = decided({APP: Absence.FORBIDDEN, DB: other}, last, there, copies_missing=gone)
    assert written(lost)[0] == pins(None, other)


def test_a_roll_ends_an_undo_for_a_source_too_that_may_not_be_read_at_the_moment() -> None:
    other = content({"p": "y"}, LATER)
    last = record({APP: TWO, DB: DB_ONE}, pins(TWO, DB_ONE))
    found = decided({APP: Absence.FORBIDDEN, DB: other}, last, pins(ONE, DB_ONE))
    assert written(found) == (pins(TWO, other), pins(TWO, other))


def test_content_that_comes_back_gives_the_same_template() -> None:
    """The stamp needs no number: the pins tell the templates apart."""
    to_two = decided({APP: TWO}, record({APP: ONE}, pins(ONE)), pins(ONE))
    back = msgspec.structs.replace(ONE, changed=LATER)
    marks = {mark.name: mark.value or "" for mark in build.marks(to_two)}
    to_one = decided({APP: back}, to_two.record, pins(TWO), changes={"marks": marks})
    assert written(to_one)[0] == pins(ONE)
    assert "-" not in to_one.stamp


CHOSEN = record({APP: TWO}, pins(TWO))


def test_another_pin_than_ours_is_recorded_as_held_and_then_left_alone() -> None:
    first = decided({APP: TWO}, CHOSEN, pins(ONE))
    assert (first.reason, build.pins(first)) == (Reason.UNDONE, None)
    assert first.record is not None
    assert first.record.held == NOW
    then = decided({APP: TWO}, first.record, pins(ONE))
    assert (then.reason, then.record) == (Reason.HELD_AT, None)
    assert f"configmap/app={name(APP, ONE)} since 2026-03-01 12:00:00 UTC" in then.message
    over = decided({APP: TWO}, first.record, pins(TWO))
    assert over.record is not None
    assert over.record.held is None

    third = content({"a": "3"}, LATER)
    changed = decided({APP: third}, first.record, pins(ONE))
    assert written(changed) == (pins(third), pins(third))
    assert changed.record is not None
    assert changed.record.held is None


def test_a_record_that_was_put_back_with_its_template_is_held_at_it() -> None:
    last = record({APP: ONE}, pins(ONE))
    latest = msgspec.structs.replace(CHOSEN, n=last.n + 1)
    found = decided({APP: TWO}, last, pins(ONE), history=History(latest=latest, left=True))
    assert (found.reason, build.pins(found)) == (Reason.UNDONE, None)
    assert found.record is not None
    assert read_pins(found.record.pins or "") == pins(TWO)
    assert decided({APP: TWO}, found.record, pins(ONE)).reason is Reason.HELD_AT


def test_released_it_rolls_to_what_is_there_now() -> None:
    held = msgspec.structs.replace(CHOSEN, held=NOW)
    free = released(held, NOW)
    assert released(CHOSEN, NOW) is None
    found = decided({APP: TWO}, free, pins(ONE))
    assert (found.reason, found.strategy) == (Reason.RELEASED, Strategy.STAMP)
    assert written(found) == (pins(TWO), pins(TWO))


def test_one_more_source_is_pinned_without_ending_that_it_is_held() -> None:
    held = msgspec.structs.replace(CHOSEN, held=NOW, s={**CHOSEN.s, **record({DB: DB_ONE}, None).s})
    found = decided({APP: TWO, DB: DB_ONE}, held, pins(ONE))
    assert found.reason is Reason.PINNED
    assert written(found) == (pins(ONE, DB_ONE), pins(TWO, DB_ONE))


def test_a_template_changed_by_others_does_not_count_as_rolled_while_it_has_the_old_pins() -> None:
    newer = {"template": Moment(300, 301)}
    last = record({APP: ONE}, pins(ONE))
    found = decided({APP: TWO}, last, pins(ONE), changes=newer)
    assert found.reason is Reason.CONFIG_CHANGED
    plain = decided({APP: TWO}, last, changes=newer, policy=EAGER)
    assert plain.reason is Reason.ROLLED_ELSEWHERE


def test_a_choice_made_after_the_change_counts_and_so_does_the_right_one() -> None:
    other = content({"a": "0"})
    last = record({APP: ONE}, pins(ONE))
    chosen = decided({APP: TWO}, last, pins(other), changes={"template": Moment(300, 301)})
    assert (chosen.reason, build.pins(chosen)) == (Reason.ROLLED_ELSEWHERE, None)
    assert chosen.record is not None
    assert chosen.record.held == NOW
    right = decided({APP: TWO}, last, pins(TWO))
    assert (right.reason, build.pins(right)) == (Reason.ROLLED_ELSEWHERE, None)
    assert right.record is not None
    assert right.record.held is None


def test_newly_used_keys_roll_if_the_copy_is_old_and_nobody_chose_it() -> None:
    before = content({"a": "1", "b": "1"}, Moment(by=90))
    after = content({"a": "1", "b": "2"}, LATER)
    only_a = reference(configmap("app"), "a")
    last = record({only_a: before}, pins(before))
    assert decided({APP: after}, last, pins(before)).reason is Reason.CONFIG_CHANGED
    assert decided({APP: before}, last, pins(before)).reason is Reason.RECORDED
    chosen = decided({APP: after}, last, pins(ONE))
    assert chosen.reason is Reason.RECORDED


OUT = {
    "revisions are off": EAGER,
    "it is out": msgspec.structs.replace(POLICY, enabled=False),
    "nobody says anything": msgspec.structs.replace(POLICY, enabled=None),
}


@pytest.mark.parametrize("policy", OUT.values(), ids=OUT)
def test_opting_out_takes_our_pins_away_and_nobody_elses(policy: Any) -> None:
    found = decided({APP: ONE}, record({APP: ONE}, pins()), pins(), policy=policy)
    assert (found.reason, build.pins(found)) == (Reason.UNPINNED, "")
    assert found.record is not None
    assert found.record.pins is None
    after = decided({APP: ONE}, found.record, policy=policy)
    assert after.record is None
    not_ours = decided({APP: ONE}, record({APP: ONE}, None), pins(), policy=policy)
    assert build.pins(not_ours) is None
    held = msgspec.structs.replace(policy, hold=Hold())
    waits = decided({APP: ONE}, record({APP: ONE}, pins()), pins(), policy=held)
    assert waits.reason is Reason.HELD


def missing(held: Content) -> frozenset[Key]:
    return frozenset({Key("ConfigMap", "shop", name(APP, held))})


def test_a_copy_that_is_gone_is_made_again_if_its_content_is_still_there() -> None:
    last = record({APP: ONE}, pins())
    found = decided({APP: ONE}, last, pins(), copies_missing=missing(ONE))
    assert (found.reason, found.record) == (Reason.COPY_RESTORED, None)
    assert build.copies(found) == ((APP.source, name(APP, ONE)),)

    held = msgspec.structs.replace(CHOSEN, held=NOW)
    lost = decided({APP: TWO}, held, pins(ONE), copies_missing=missing(ONE))
    assert (lost.reason, build.copies(lost)) == (Reason.REVISION_MISSING, ())
    assert name(APP, ONE) in lost.message


def test_a_copy_that_is_gone_for_good_is_no_loss_if_what_is_used_of_it_is_still_there() -> None:
    only_a = reference(configmap("app"), "a")
    before, after = content({"a": "1", "b": "1"}), content({"a": "1", "b": "2"})
    last = record({only_a: before}, pins(before))
    found = decided({only_a: after}, last, pins(before), copies_missing=missing(before))
    assert found.reason is Reason.PINNED
    assert written(found) == (pins(after), pins(after))


NO_COPY = {
    "made immutable by its author": (APP, msgspec.structs.replace(ONE, immutable=True)),
    "a token": (DB, msgspec.structs.replace(DB_ONE, type=TOKEN)),
    "only named by an annotation": (reference(configmap("app"), added=True), ONE),
    "of another namespace": (reference(configmap("app", "other")), ONE),
    "only live mounts": (Reference(configmap("app"), keys=frozenset(), required=True), ONE),
    "missing and optional": (Reference(configmap("app")), Absence.MISSING),
    "ignored": (APP, msgspec.structs.replace(ONE, ignored=True)),
}


@pytest.mark.parametrize(("one", "held"), NO_COPY.values(), ids=NO_COPY)
def test_what_needs_no_copy_is_not_pinned(one: Reference, held: Content | Absence) -> None:
    adopted = decided({one: held}, None)
    found = decided({one: held}, adopted.record)
    assert (found.reason, build.copies(found)) == (Reason.UP_TO_DATE, ())
    is_token = isinstance(held, Content) and held.type == TOKEN
    assert ["token" in problem.sentence for problem in found.problems] == [True] * is_token


LEAVES = [
    (kind, strategy)
    for kind in KINDS
    for strategy in kind.strategies
    if strategy in {Strategy.EVICT, Strategy.RELOAD, Strategy.NOTIFY}
    or (kind.fixed and strategy is not Strategy.RECREATE)
]


@pytest.mark.parametrize(
    ("kind", "strategy"), LEAVES, ids=[f"{kind.name}, {each.value}" for kind, each in LEAVES]
)
def test_a_strategy_that_leaves_the_template_alone_leaves_no_room_for_pins(
    kind: Kind, strategy: Strategy
) -> None:
    policy = msgspec.structs.replace(POLICY, strategy=strategy)
    found = decided({APP: ONE}, record({APP: ONE}, None), kind=kind, policy=policy)
    assert build.pins(found) is None
    assert any("revisions" in problem.sentence for problem in found.problems)


def test_pods_that_are_replaced_by_hand_or_by_eviction_get_the_pins_of_the_template() -> None:
    policy = msgspec.structs.replace(POLICY, strategy=Strategy.EVICT)
    on_delete = {"replaces_pods": False}
    last = record({APP: ONE}, pins())
    found = decided(
        {APP: TWO}, last, pins(), kind=KIND["DaemonSet"], policy=policy, changes=on_delete
    )
    assert written(found)[0] == pins(TWO)
    assert found.record is not None
    assert found.record.todo is not None


def test_a_restart_by_hand_keeps_the_pins_and_records_nothing() -> None:
    found = restart(seen({APP: TWO}, record({APP: ONE}, pins()), pins()), NOW, "why not", ALL)
    assert (found.record, build.pins(found), found.strategy) == (None, None, Strategy.RESTART)


def test_without_anything_to_pin_a_roll_is_as_any_other() -> None:
    before = msgspec.structs.replace(ONE, immutable=True)
    after = msgspec.structs.replace(TWO, immutable=True)
    with_pins = seen({APP: after}, record({APP: before}, {}))
    without = seen({APP: after}, record({APP: before}, None), policy=EAGER)
    plans = [(one.workload, decide(one, NOW)) for one in (with_pins, without)]
    both = [patch(workload, KINDS[0], build.edits(plan)) for workload, plan in plans]
    assert [one["path"] for one in both[0]] == [one["path"] for one in both[1]]


@pytest.mark.parametrize("pinned", [True, False], ids=["what is pinned", "something else"])
def test_a_rollout_is_restarted_only_if_its_template_stays_as_it_is(pinned: bool) -> None:
    policy = msgspec.structs.replace(POLICY, strategy=Strategy.RESTART)
    more = reference(configmap("more"), added=True)
    before = {APP: ONE, more: content({"b": "1"})}
    after = {APP: TWO, more: before[more]} if pinned else {APP: ONE, more: content({"b": "2"})}
    after = {one: msgspec.structs.replace(held, changed=LATER) for one, held in after.items()}
    rollout = KIND["Rollout"]
    given = seen(after, record(before, pins()), pins(), kind=rollout, policy=policy)
    operations = patch(given.workload, rollout, build.edits(decide(given, NOW)))
    restarts = [one for one in operations if one["path"] == "/spec/restartAt"]
    assert bool(restarts) is not pinned


def test_another_digest_key_is_another_name_and_no_reason_to_roll() -> None:
    keys: dict[str, bytes | None] = {"old": b"1", "new": b"2"}
    held = content({"p": "x"}, hmac=keys)
    old = {("Secret", "db"): name(DB, held, "old")}
    last = msgspec.structs.replace(
        record({}, old), s={"secret/db": reference_digest(DB, held, "old") or ""}, k="old"
    )
    known = Keys("new", frozenset(("old", "new")))
    found = decided({DB: held}, last, old, keys=known)
    assert (found.reason, build.pins(found)) == (Reason.KEY_ROTATED, None)
    then = decided({DB: held}, found.record, old, keys=known)
    assert then.reason is Reason.UP_TO_DATE


def test_pins_that_somebody_takes_out_again_are_put_back_only_now_and_then() -> None:
    last = record({APP: ONE}, pins(), why="Pinned", rolled=NOW - timedelta(minutes=1))
    found = decided({APP: ONE}, last)
    assert found.reason is Reason.PINS_REMOVED
    assert found.look_at == NOW + timedelta(minutes=4)
    later = msgspec.structs.replace(last, rolled=NOW - timedelta(minutes=6))
    assert decided({APP: ONE}, later).reason is Reason.PINNED
    changed = decided({APP: TWO}, last)
    assert changed.reason is Reason.CONFIG_CHANGED
    more = decided({APP: ONE, DB: DB_ONE}, msgspec.structs.replace(last, s={
        **last.s, **record({DB: DB_ONE}, None).s}), pins())  # fmt: skip
    assert more.reason is Reason.PINNED


def test_names_that_somebody_put_back_are_pinned_again_where_they_count() -> None:
    last = record({APP: ONE}, pins(), named=True)
    plain = {"plain": True}
    assert decided({APP: ONE}, last, pins(), changes=plain).reason is Reason.PINNED
    by_admission = msgspec.structs.replace(last, named=False)
    found = decided({APP: ONE}, by_admission, pins(), changes=plain)
    assert found.reason is Reason.UP_TO_DATE
    by_name = msgspec.structs.replace(POLICY, pin="template")
    found = decided({APP: ONE}, by_admission, pins(), changes=plain, policy=by_name)
    assert found.reason is Reason.PINNED


def test_pins_of_a_workload_that_came_from_somewhere_else_are_no_choice() -> None:
    elsewhere = {("ConfigMap", "app"): "app-0000000000"}
    gone = frozenset({Key("ConfigMap", "shop", "app-0000000000")})
    first = decided({APP: ONE}, None, elsewhere, copies_missing=gone)
    assert first.record is not None
    assert first.record.held is None
    found = decided({APP: ONE}, first.record, elsewhere, copies_missing=gone)
    assert found.reason is Reason.PINNED
    assert written(found) == (pins(), pins())
    there = decided({APP: ONE}, None, elsewhere)
    assert there.record is not None
    assert there.record.held == NOW
