"""A record that another writer removes, spoils or sets back: no change is lost or declined."""

from collections.abc import Callable
from datetime import timedelta

import msgspec
import pytest
from tests.core.build import EAGER, KIND, NOW, content, reference, snapshot
from tests.core.cluster import APP, NOTHING, ROLLED, Cluster, adopted, reasons

from reroll.core.decide.actions import ReadHistory
from reroll.core.decide.chains import decide
from reroll.core.decide.plan import Plan
from reroll.core.model.content import Content
from reroll.core.model.digest import reference_digest
from reroll.core.model.moment import Moment
from reroll.core.model.record import Record, Todo, Unreadable
from reroll.core.observe.snapshot import History
from reroll.core.observe.workload import Earlier
from reroll.core.policy.policy import Hold
from reroll.core.tables.kinds import KINDS, Kind, Strategy
from reroll.core.tables.reasons import Reason

USED = reference(APP)
PAST = NOW - timedelta(hours=1)


def takes(name: str) -> Callable[[Cluster], object]:
    return lambda cluster: getattr(cluster, name)()


taken = pytest.mark.parametrize("take", [takes("remove_record"), takes("set_back")],
                                ids=["removed", "set back"])  # fmt: skip
while_it = pytest.mark.parametrize("down", [False, True], ids=["runs", "is down"])


@while_it
@taken
@pytest.mark.parametrize("backs_up", [True, False], ids=["with a backup", "without one"])
def test_a_change_that_comes_with_the_loss_still_rolls(
    take: Callable[[Cluster], object], down: bool, backs_up: bool
) -> None:
    """`kubectl replace` of a ConfigMap and a workload, again and again."""
    cluster = adopted()
    cluster.backs_up = backs_up
    for value in ("2", "3", "4"):
        cluster.flush()
        if down:
            cluster.stop()
        cluster.put(APP, a=value)
        take(cluster)
        if down:
            cluster.tick()
            cluster.reconnect()
        assert reasons(cluster) == ROLLED
        assert cluster.stale() == set()
        assert reasons(cluster) == NOTHING


@while_it
@taken
def test_without_a_change_the_record_comes_back_as_it_was(
    take: Callable[[Cluster], object], down: bool
) -> None:
    cluster = adopted()
    cluster.put(APP, a="2")
    reasons(cluster)
    assert cluster.seen
    before = cluster.seen.record
    cluster.flush()
    if down:
        cluster.stop()
    take(cluster)
    cluster.reconnect()

    assert reasons(cluster) == [Reason.RECORD_RESTORED]
    assert cluster.seen.record == before
    assert len(cluster.rolls) == 1


def test_a_change_from_before_the_loss_is_not_declined_by_an_old_record() -> None:
    """The controller is down; Git has the first record; the ConfigMap is back at another value."""
    cluster = adopted()
    for value in ("2", "3"):
        cluster.put(APP, a=value)
        reasons(cluster)
    cluster.flush()
    cluster.stop()
    cluster.tick()
    cluster.put(APP, a="1")
    cluster.set_back()
    cluster.reconnect()

    assert reasons(cluster) == ROLLED
    assert cluster.stale() == set()


def test_a_backup_that_missed_the_last_roll_costs_a_roll_and_loses_none() -> None:
    """It was killed before it wrote the backup; the content went back to that of the backup."""
    cluster = adopted()
    cluster.flush()
    cluster.put(APP, a="2")
    reasons(cluster)
    cluster.stop()
    cluster.tick()
    cluster.put(APP, a="1")
    cluster.remove_record()
    cluster.reconnect()

    assert reasons(cluster) == ROLLED
    assert cluster.stale() == set()


# One decision

HELD = content({"a": "new"}, Moment(200, 201, NOW))


def lost(kind: Kind, there: Content = HELD, *, digest: str | None = None, **more: object) -> Plan:
    """A workload whose record is gone; it was written before the content changed."""
    policy = more.pop("policy", EAGER)
    todo = more.pop("todo", None)
    known = {"configmap/app": digest or reference_digest(USED, there, "") or ""}
    last = Record(5, PAST, "ConfigChanged", known, rolled=PAST, todo=todo)  # type: ignore[arg-type]  # what a test gives
    changes = {"last": last, "template": Moment(99, 100), **more}
    return decide(snapshot({USED: there}, kind=kind, policy=policy, changes=changes), NOW)  # type: ignore[arg-type]  # likewise


each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


@each_kind
def test_a_lost_record_decides_for_every_kind(kind: Kind) -> None:
    assert lost(kind).reason is Reason.RECORD_RESTORED
    rolled = lost(kind, digest="old")
    assert rolled.reason is Reason.CONFIG_CHANGED
    assert rolled.record is not None
    assert rolled.record.n > 5
    assert lost(kind, record=Unreadable("it is bad")).reason is Reason.RECORD_RESTORED


def test_a_replacement_in_the_middle_of_our_rollout_rolls_again() -> None:
    """It puts a template back whose pods, or some of them, never got the content of the record."""
    back = Earlier(b"a", Moment(by=50), {"configmap/app": "old"}, ours=True)

    rolled = lost(KIND["Deployment"], back=back)

    assert rolled.reason is Reason.CONFIG_CHANGED
    assert rolled.record is not None
    assert rolled.record.n > 5


@each_kind
def test_a_held_change_stays_held(kind: Kind) -> None:
    policy = msgspec.structs.replace(EAGER, hold=Hold())

    assert lost(kind, digest="old", policy=policy).reason is Reason.HELD


def test_evictions_that_are_under_way_come_back_with_the_record() -> None:
    todo = Todo(Strategy.EVICT.value, PAST)

    found = lost(KIND["StatefulSet"], todo=todo)

    assert found.reason is Reason.RECORD_RESTORED
    assert found.record is not None
    assert found.record.todo == todo


@each_kind
@pytest.mark.parametrize(
    ("blind_after", "changed", "in_doubt"),
    [
        pytest.param(None, Moment(0, 201, NOW), False, id="its loss was watched"),
        pytest.param(300, Moment(0, 201, NOW), False, id="the source is older than the record"),
        pytest.param(150, Moment(0, 201, PAST - timedelta(1)), False, id="older by its time"),
        pytest.param(150, Moment(0, 201, PAST), True, id="written in the second of the record"),
        pytest.param(150, Moment(0, 201, NOW), True, id="written since"),
        pytest.param(150, Moment(0, 201), True, id="nothing tells"),
    ],
)
def test_a_loss_that_went_unwatched_rolls_in_doubt(
    kind: Kind, blind_after: int | None, changed: Moment, in_doubt: bool
) -> None:
    """Content that is as recorded may have been another one in between, and pods may have that."""
    found = lost(kind, content({"a": "new"}, changed), blind_after=blind_after)

    done = found.strategy is not None or found.has(ReadHistory)
    assert (done, found.reason is Reason.RECORD_RESTORED) == (in_doubt, not in_doubt)


@each_kind
def test_revisions_are_asked_before_adopting_where_no_backup_is(kind: Kind) -> None:
    seen = snapshot({USED: content({"a": "new"})}, kind=kind, records_known=False)
    found = decide(seen, NOW)
    assert found.has(ReadHistory) is kind.copies_record
    assert decide(msgspec.structs.replace(seen, history=History()), NOW).reason is Reason.ADOPTED
    assert decide(msgspec.structs.replace(seen, records_known=True), NOW).reason is Reason.ADOPTED

    copy = Record(5, PAST, "Adopted", {"configmap/app": "old"})
    again = decide(msgspec.structs.replace(seen, history=History(latest=copy)), NOW)
    assert again.reason is (Reason.CONFIG_CHANGED if kind.copies_record else Reason.ADOPTED)
