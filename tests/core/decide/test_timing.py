"""Permissions by the clock and by people: windows, freezes, holds, and what is urgent."""

from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import msgspec
import pytest
from tests.core.build import EAGER, NOW, configmap, content, reference, secret, snapshot
from tests.core.decide.trial_cases import OTHER

from reroll.core.decide.actions import Patch, WriteRecord
from reroll.core.decide.chains import decide
from reroll.core.decide.plan import Plan
from reroll.core.dialects.annotations import ANNOTATIONS, SOURCE_ANNOTATIONS
from reroll.core.model.digest import reference_digest
from reroll.core.model.moment import Moment
from reroll.core.model.pace import Pace
from reroll.core.model.record import Record, Trial
from reroll.core.model.timing import ANY_TIME, Hold, SourceTiming
from reroll.core.model.windows import Windows
from reroll.core.observe.snapshot import Snapshot
from reroll.core.observe.spread import Spread
from reroll.core.policy.window_rows import windows
from reroll.core.policy.windows import parse_windows
from reroll.core.propagation.member import soak_of
from reroll.core.tables.reasons import Reason

# It is Sunday, 12:00 UTC.
APP, TLS = reference(configmap("app")), reference(secret("tls"))
NEW = content({"a": "new"}, Moment(200, 201, NOW))
OLD = Record(n=5, at=NOW - timedelta(hours=1), why="Adopted", s={"configmap/app": "old"})
CURRENT = msgspec.structs.replace(OLD, s={"configmap/app": reference_digest(APP, NEW, "") or ""})
OPEN, CLOSED = parse_windows("daily 11:00-13:00"), parse_windows("daily 02:00+3h")
NIGHT = datetime(2026, 3, 2, 2, tzinfo=UTC)
HOURS = timedelta(hours=1)
CALENDAR = windows(
    [
        {"name": "nights", "allow": "daily 02:00+3h"},
        {"name": "noon", "allow": "daily 11:00-13:00"},
        {"name": "black-week", "deny": "2026-02-25 to 2026-03-04"},
        {"name": "sundays", "deny": "Sun", "namespaces": ["other-*", "sh?p"]},
        {"name": "elsewhere", "allow": "daily 02:00+3h", "namespaces": ["other-*"]},
    ]
)[0].rows
WITHOUT_SUNDAYS = tuple(row for row in CALENDAR if row.name != "sundays")


def seen(record: Record = OLD, *, timing: SourceTiming | None = None, **more: Any) -> Snapshot:
    """One that rolls, unless something holds it."""
    policy = msgspec.structs.replace(EAGER, **more.pop("policy", {}))
    there = msgspec.structs.replace(NEW, timing=timing)
    return snapshot({APP: there}, record, policy=policy, **more)


def window(text: str) -> dict[str, Windows]:
    return {"window": parse_windows(text)}


# Windows


def test_in_an_open_window_it_rolls() -> None:
    assert decide(seen(policy={"window": OPEN}), NOW).reason is Reason.CONFIG_CHANGED


def test_in_a_closed_window_it_waits_until_it_opens_and_says_when() -> None:
    plan = decide(seen(policy={"window": CLOSED}), NOW)

    assert (plan.reason, plan.actions, plan.look_at) == (Reason.WINDOW_CLOSED, (), NIGHT)
    assert plan.message.endswith(
        "closed since 2026-03-01 05:00 UTC, next opening 2026-03-02 02:00 UTC"
    )
    assert decide(seen(policy={"window": CLOSED}), NIGHT).reason is Reason.CONFIG_CHANGED
    just_before = decide(seen(policy={"window": CLOSED}), NIGHT - timedelta(microseconds=1))
    assert just_before.reason is Reason.WINDOW_CLOSED


def test_a_window_that_never_opens_says_so_and_is_looked_at_when_something_changes() -> None:
    plan = decide(seen(policy=window("daily 02:00-03:00; deny daily 01:00-04:00")), NOW)

    assert (plan.reason, plan.look_at) == (Reason.WINDOW_CLOSED, None)
    assert "next opening never" in plan.message


BY_NAME = {
    "nights": Reason.WINDOW_CLOSED,
    "noon": Reason.CONFIG_CHANGED,
    "nights, noon": Reason.CONFIG_CHANGED,
    "noon, black-week": Reason.FROZEN,
    "nights; daily 12:00+1h": Reason.CONFIG_CHANGED,
    "noon, night": Reason.WINDOW_CLOSED,
}


@pytest.mark.parametrize(("text", "reason"), BY_NAME.items(), ids=BY_NAME)
def test_an_annotation_names_windows_of_the_config_file(text: str, reason: Reason) -> None:
    plan = decide(seen(policy=window(text), calendar=WITHOUT_SUNDAYS), NOW)

    assert plan.reason is reason


def test_a_name_that_no_row_has_keeps_it_closed_and_is_told() -> None:
    plan = decide(seen(policy=window("noon, night"), calendar=WITHOUT_SUNDAYS), NOW)

    assert plan.message.endswith(
        "no window is called 'night'; the config file has: black-week, elsewhere, nights, noon"
    )


def test_a_window_that_cannot_be_read_keeps_it_closed_and_is_told() -> None:
    """Nobody knows when it is open."""
    row = next(row for row in ANNOTATIONS if row.name == "window")
    assert row.otherwise is not None
    plan = decide(seen(policy={"window": row.otherwise("'noon Mars' is odd")}), NOW)

    assert (plan.reason, plan.look_at) == (Reason.WINDOW_CLOSED, None)
    assert plan.message.endswith(": 'noon Mars' is odd")
    of_source = next(row for row in SOURCE_ANNOTATIONS if row.name == "window")
    assert of_source.otherwise is row.otherwise


def test_a_freeze_is_named_with_its_end_and_the_next_opening() -> None:
    plan = decide(seen(policy=window("nights, black-week"), calendar=WITHOUT_SUNDAYS), NOW)

    assert plan.reason is Reason.FROZEN
    assert plan.message.endswith(
        ": black-week until 2026-03-05 00:00 UTC; next opening 2026-03-05 02:00 UTC"
    )
    assert plan.look_at == datetime(2026, 3, 5, 2, tzinfo=UTC)


def test_a_row_with_namespaces_is_for_all_workloads_there_and_no_annotation_undoes_it() -> None:
    for text in ("always", "daily 00:00-24:00"):
        plan = decide(seen(policy=window(text), calendar=CALENDAR), NOW)
        assert (plan.reason, plan.look_at) == (Reason.FROZEN, datetime(2026, 3, 2, tzinfo=UTC))


def test_a_window_of_a_source_is_one_more_that_has_to_be_open() -> None:
    both = seen(policy={"window": OPEN}, timing=SourceTiming(window=CLOSED))

    assert decide(both, NOW).reason is Reason.WINDOW_CLOSED
    assert "next opening never" in decide(both, NOW).message
    alone = seen(timing=SourceTiming(window=CLOSED))
    assert decide(alone, NOW).look_at == NIGHT


def test_the_window_of_a_source_that_did_not_change_keeps_nothing() -> None:
    other = content({"b": "1"}, timing=SourceTiming(window=CLOSED))
    ref = reference(configmap("other"))
    record = msgspec.structs.replace(
        OLD, s={**OLD.s, "configmap/other": reference_digest(ref, other, "") or ""}
    )

    plan = decide(snapshot({APP: NEW, ref: other}, record, policy=EAGER), NOW)

    assert plan.reason is Reason.CONFIG_CHANGED


def test_the_leader_with_a_wrong_clock_waits_for_what_its_clock_says_and_no_longer() -> None:
    """Each look is at the clock of that look: what was wrong is over with the next one."""
    wrong = decide(seen(policy={"window": CLOSED}), NOW + 13 * HOURS)
    assert (wrong.reason, wrong.look_at) == (Reason.WINDOW_CLOSED, NIGHT)

    assert decide(seen(policy={"window": CLOSED}), NIGHT).reason is Reason.CONFIG_CHANGED


# Who wins

HOLD = Hold(why="incident 42")
STOP = Spread(APP.source, stopped_by=OTHER, why="it crashes", is_definite=True)


def situations() -> list[tuple[str, Snapshot, Reason]]:
    """Every mix of a hold, a stop, an urgent source and a closed window."""
    rows = []
    for held, stopped, urgent, closed in product((True, False), repeat=4):
        expected = Reason.CONFIG_CHANGED
        if held:
            expected = Reason.HELD
        elif stopped:
            expected = Reason.STOPPED
        elif urgent:
            expected = Reason.CONFIG_CHANGED
        elif closed:
            expected = Reason.WINDOW_CLOSED
        places = ("workload", "source", "cluster") if held else ("nowhere",)
        for place in places:
            timing = SourceTiming(HOLD if place == "source" else None, urgent=urgent)
            policy = {
                "hold": HOLD if place == "workload" else None,
                "window": CLOSED if closed else OPEN,
            }
            look = seen(
                policy=policy,
                timing=timing,
                cluster_hold=HOLD if place == "cluster" else None,
                spreads=(STOP,) if stopped else (),
                governed=stopped,
            )
            words = zip(("stopped", "urgent", "closed"), (stopped, urgent, closed), strict=True)
            name = " ".join([f"held {place}", *(word for word, is_so in words if is_so)])
            rows.append((name, look, expected))
    return rows


TABLE = situations()


@pytest.mark.parametrize(("look", "reason"), [row[1:] for row in TABLE], ids=[r[0] for r in TABLE])
def test_hold_is_before_stop_before_urgent_before_window(look: Snapshot, reason: Reason) -> None:
    assert decide(look, NOW).reason is reason


def test_urgent_passes_a_freeze_and_a_cooldown() -> None:
    rolled = msgspec.structs.replace(OLD, rolled=NOW)
    cooling = {"pace": Pace(cooldown=HOURS)}
    urgent = SourceTiming(urgent=True)

    assert decide(seen(rolled, policy=cooling), NOW).reason is Reason.COOLING_DOWN
    assert decide(seen(rolled, policy=cooling, timing=urgent), NOW).reason is Reason.CONFIG_CHANGED
    assert decide(seen(calendar=CALENDAR), NOW).reason is Reason.FROZEN
    assert decide(seen(calendar=CALENDAR, timing=urgent), NOW).reason is Reason.CONFIG_CHANGED
    unreadable = seen(policy={"window": Windows(problem="odd")}, timing=urgent)
    assert decide(unreadable, NOW).reason is Reason.CONFIG_CHANGED


def test_what_is_rolled_for_an_urgent_source_has_no_soak_time() -> None:
    tried = msgspec.structs.replace(CURRENT, trial=Trial(["configmap/app"]))
    slow = {"pace": Pace(soak=HOURS)}

    assert soak_of(seen(tried, policy=slow)) == HOURS
    assert soak_of(seen(tried, policy=slow, timing=SourceTiming(urgent=True))) == timedelta()


# Holds


def test_a_hold_on_a_source_names_it_and_ends_by_itself() -> None:
    until = NOW + HOURS
    look = seen(timing=SourceTiming(Hold(until, "migration")))
    plan = decide(look, NOW)

    assert (plan.reason, plan.actions, plan.look_at) == (Reason.HELD, (), until)
    assert "(on ConfigMap shop/app until 2026-03-01 13:00:00 UTC: migration)" in plan.message
    assert decide(look, until).reason is Reason.CONFIG_CHANGED


def test_a_hold_on_a_source_that_did_not_change_holds_nothing_else() -> None:
    assert decide(seen(CURRENT, timing=SourceTiming(HOLD)), NOW).reason is Reason.UP_TO_DATE


def test_a_hold_of_the_cluster_says_how_it_ends() -> None:
    plan = decide(seen(cluster_hold=HOLD), NOW)

    assert "(the whole cluster, `reroll release --all` ends it: incident 42)" in plan.message


# Certificates

SUNDAY_NIGHT = NOW + 12 * HOURS


def certified(early: timedelta | None, ends: datetime | None, record: Record = OLD) -> Plan:
    last = msgspec.structs.replace(record, expires=ends)
    return decide(seen(last, policy={"window": CLOSED, "before_expiry": early}), NOW)


def test_a_certificate_that_runs_out_before_the_next_opening_is_told() -> None:
    plan = certified(None, SUNDAY_NIGHT)

    assert plan.reason is Reason.WINDOW_CLOSED
    assert plan.message.endswith(
        "; a certificate that it uses runs out before that, 2026-03-02 00:00 UTC"
    )
    assert "certificate" not in certified(None, NIGHT + HOURS).message


def test_with_urgent_before_expiry_it_rolls() -> None:
    assert certified(ANY_TIME, SUNDAY_NIGHT).reason is Reason.CONFIG_CHANGED
    assert certified(ANY_TIME, NIGHT + HOURS).reason is Reason.WINDOW_CLOSED
    assert certified(ANY_TIME, None).reason is Reason.WINDOW_CLOSED


def test_with_a_time_before_that_it_waits_until_then() -> None:
    plan = certified(3 * HOURS, SUNDAY_NIGHT)

    assert (plan.reason, plan.look_at) == (Reason.WINDOW_CLOSED, SUNDAY_NIGHT - 3 * HOURS)
    assert certified(12 * HOURS, SUNDAY_NIGHT).reason is Reason.CONFIG_CHANGED


def test_a_record_says_when_its_certificates_run_out_where_windows_count() -> None:
    cert = content({"tls.crt": "x"}, Moment(200, 201, NOW), expires=SUNDAY_NIGHT)
    later = msgspec.structs.replace(NEW, expires=SUNDAY_NIGHT + HOURS)

    def recorded(**policy: Any) -> Record | None:
        own = msgspec.structs.replace(EAGER, **policy)
        return decide(snapshot({APP: later, TLS: cert}, OLD, policy=own), NOW).record

    plain, asked = recorded(), recorded(window=OPEN)
    assert plain is not None
    assert asked is not None
    assert (plain.expires, asked.expires) == (None, SUNDAY_NIGHT)


def test_who_asks_for_it_later_gets_a_record_with_it_once_and_no_roll() -> None:
    there = msgspec.structs.replace(NEW, expires=SUNDAY_NIGHT)
    policy = msgspec.structs.replace(EAGER, before_expiry=ANY_TIME)
    plan = decide(snapshot({APP: there}, CURRENT, policy=policy), NOW)

    assert (plan.reason, plan.strategy) == (Reason.RECORDED, None)
    [patch] = plan.actions
    assert isinstance(patch, Patch)
    [edit] = patch.edits
    assert isinstance(edit, WriteRecord)
    assert edit.record.expires == SUNDAY_NIGHT
    again = decide(snapshot({APP: there}, edit.record, policy=policy), NOW)
    assert again.reason is Reason.UP_TO_DATE
