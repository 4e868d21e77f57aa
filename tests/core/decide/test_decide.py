"""Decisions on a single look: what is seen, and the plan that follows from it."""

from datetime import timedelta

import msgspec
import pytest
from tests.core.build import EAGER, KIND, NOW, configmap, content, reference, secret, snapshot

from reroll.core.decide.actions import Evict, Patch, WriteRecord
from reroll.core.decide.chains import decide
from reroll.core.decide.plan import Plan
from reroll.core.decide.roll import done
from reroll.core.model.content import Content
from reroll.core.model.digest import ABSENT, AWAITED, reference_digest
from reroll.core.model.key import Problem
from reroll.core.model.moment import Moment
from reroll.core.model.record import Record, Todo, Unreadable
from reroll.core.model.reference import Reference
from reroll.core.observe.snapshot import Absence, Change, Snapshot
from reroll.core.policy.policy import Policy
from reroll.core.tables.annotations import STAMP, STAMP_ENV
from reroll.core.tables.kinds import KINDS, Kind, Strategy
from reroll.core.tables.reasons import Reason

APP, DB = reference(configmap("app")), reference(secret("db"), "password")
NEW = Moment(200, 201, NOW)
HELD = content({"a": "new"}, NEW)
FOUND = content({"a": "new"}, Moment(by=90))
FIRST_SECOND = int(NOW.timestamp())


def record(**entries: str) -> Record:
    return Record(
        n=5, at=NOW, why="Adopted", s={k.replace("_", "/"): v for k, v in entries.items()}
    )


def digest(ref: Reference, held: Content, key_id: str = "") -> str:
    return reference_digest(ref, held, key_id) or ""


OLD = record(configmap_app="old")
CURRENT = record(configmap_app=digest(APP, HELD))

# What stops a roll

NOT_READ = {APP: HELD, DB: Absence.UNREAD}
STOPS: dict[str, tuple[Snapshot, Reason]] = {
    "a change rolls": (snapshot({APP: HELD}, OLD), Reason.CONFIG_CHANGED),
    "no change does not": (snapshot({APP: HELD}, CURRENT), Reason.UP_TO_DATE),
    "what has ended is left alone": (
        snapshot({APP: HELD}, OLD, changes={"ended": True}), Reason.ENDED,
    ),
    "what did not opt in is left alone": (
        snapshot({APP: HELD}, OLD, policy=Policy()), Reason.NOT_ENABLED,
    ),
    "what opted out is left alone": (
        snapshot({APP: HELD}, OLD, policy=Policy(enabled=False)), Reason.OPTED_OUT,
    ),
    "a source is still being read": (snapshot(NOT_READ, OLD), Reason.WAITING),
    "a source that nobody looked for is still to be read": (
        msgspec.structs.replace(snapshot({APP: HELD}, OLD), sources={}), Reason.WAITING,
    ),
    "nothing is recorded before everything was read": (snapshot(NOT_READ), Reason.WAITING),
    "a workload without a record is adopted": (snapshot({APP: FOUND}), Reason.ADOPTED),
    "a paused workload waits": (
        snapshot({APP: HELD}, OLD, changes={"still": True}), Reason.PAUSED,
    ),
    "a Job that is suspended but still has pods waits": (
        snapshot({APP: HELD}, OLD, kind=KIND["Job"], changes={"still": True}), Reason.PAUSED,
    ),
    "a suspended Job without pods starts them with what is there then": (
        snapshot({APP: HELD}, OLD, kind=KIND["Job"], changes={"still": True, "idle": True}),
        Reason.RECORDED,
    ),
    "a paused workload is adopted": (
        snapshot({APP: FOUND}, changes={"still": True}), Reason.ADOPTED,
    ),
    "a required source that is missing holds the roll": (
        snapshot({APP: HELD, DB: Absence.MISSING}, OLD), Reason.SOURCE_MISSING,
    ),
    "a required key that is missing holds the roll": (
        snapshot({reference(configmap("app"), required_keys=frozenset("z")): HELD}, OLD),
        Reason.SOURCE_MISSING,
    ),
    "a source that may not be read holds nothing": (
        snapshot({APP: HELD, DB: Absence.FORBIDDEN}, OLD), Reason.CONFIG_CHANGED,
    ),
    "a missing source matters only when there is something to roll": (
        snapshot({APP: Absence.MISSING}, OLD), Reason.UP_TO_DATE,
    ),
    "a source that says ignore me": (
        snapshot({APP: content({"a": "new"}, ignored=True)}, OLD), Reason.RECORDED,
    ),
    "a source of which only the presence matters": (
        snapshot({Reference(configmap("app"), keys=frozenset(), required=True): HELD}, record()),
        Reason.UP_TO_DATE,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("seen", "reason"), STOPS.values(), ids=STOPS)
def test_what_stops_a_roll_and_what_does_not(seen: Snapshot, reason: Reason) -> None:
    found = decide(seen, NOW)

    assert found.reason is reason
    assert (found.strategy is not None) is (reason is Reason.CONFIG_CHANGED)


def test_a_held_roll_names_what_is_missing_and_what_to_do() -> None:
    found = decide(snapshot({APP: HELD, DB: Absence.MISSING}, OLD), NOW)

    assert found.message == (
        "a source that its pods cannot start without does not exist: Secret shop/db; create it"
    )


def test_problems_travel_with_every_plan() -> None:
    one, two, three = (Problem(name) for name in ("policy", "workload", "world"))
    policy = msgspec.structs.replace(EAGER, problems=(one,))
    seen = snapshot(
        {APP: HELD}, OLD, policy=policy, changes={"problems": (two,)}, problems=(three,)
    )

    for record_ in (OLD, CURRENT):
        fresh = msgspec.structs.replace(seen.workload, record=record_)
        found = decide(msgspec.structs.replace(seen, workload=fresh), NOW)
        assert found.problems == (one, two, three)


def test_a_workload_with_more_sources_than_a_record_holds_is_told_so() -> None:
    """As when a glob means thousands: the API server would refuse the record, again and again."""

    def with_sources(count: int) -> Plan:
        many = [Reference(configmap(f"a-rather-long-name-of-a-source-{n}")) for n in range(count)]
        return decide(snapshot(dict.fromkeys(many, FOUND)), NOW)

    assert with_sources(2_000).reason is Reason.ADOPTED
    found = with_sources(4_000)
    assert (found.reason, found.record) == (Reason.TOO_MANY_SOURCES, None)
    assert found.message.endswith(": 4000; narrow its globs, or name fewer")


def test_a_roll_that_began_is_brought_to_its_end_however_large_its_record_is() -> None:
    entries = {f"configmap/a-rather-long-name-of-a-source-{n}": "d" * 64 for n in range(4_000)}
    many = {Reference(configmap(name.partition("/")[2])): Absence.FORBIDDEN for name in entries}
    large = Record(5, NOW, "ConfigChanged", entries, todo=Todo("evict", NOW))

    found = decide(snapshot(many, large), NOW)

    assert (found.reason, found.has(Evict)) == (Reason.CONTINUED, True)


# Adopting


def test_adopting_records_everything_and_rolls_nothing() -> None:
    maybe = Reference(configmap("maybe"))
    seen = snapshot({APP: FOUND, DB: Absence.MISSING, maybe: Absence.MISSING}, kind=KIND["Job"])

    found = decide(seen, NOW)

    assert found == Plan(
        Reason.ADOPTED,
        Reason.ADOPTED.sentence,
        (Patch((WriteRecord(Record(1, NOW, "Adopted", {
            "configmap/app": digest(APP, FOUND),
            "secret/db#password": AWAITED,
            "configmap/maybe": ABSENT,
        })),)),),
    )  # fmt: skip


def test_a_record_that_cannot_be_read_is_made_anew_with_a_word_about_it() -> None:
    spoilt = {"record": Unreadable("it is bad"), "last": None}

    found = decide(snapshot({APP: FOUND}, kind=KIND["Job"], changes=spoilt), NOW)

    assert found.reason is Reason.ADOPTED
    assert found.message.startswith("its record could not be used (it is bad); seen for the first")
    assert [problem.sentence for problem in found.problems] == [
        "annotation reroll.dev/state on Job shop/web cannot be used: it is bad; it is written again"
    ]
    assert found.record is not None
    assert found.record.n == 1


def test_a_change_watched_before_the_adoption_rolls() -> None:
    """The pods are older than it: they were there when the workload was first seen."""
    held = content({"a": "new"}, Moment(150, 151))

    assert decide(snapshot({APP: held}, changes={"seen": 150}), NOW).strategy is Strategy.STAMP
    assert decide(snapshot({APP: held}, changes={"seen": 151}), NOW).reason is Reason.ADOPTED
    assert decide(snapshot({APP: held}, changes={"seen": 0}), NOW).reason is Reason.ADOPTED


def test_a_required_source_made_before_the_adoption_does_not_roll() -> None:
    """As when a folder is applied with the workload first: no pod can have started without it."""
    held = content({"a": "new"}, Moment(150, 151), created=True)

    assert decide(snapshot({APP: held}, changes={"seen": 150}), NOW).reason is Reason.ADOPTED


# Rolling


@pytest.mark.parametrize(
    ("kind", "strategy"),
    [pytest.param(k, s, id=f"{k.name}, {s}") for k in KINDS for s in k.strategies],
)
def test_a_roll_says_how_and_why_and_what_to_write(kind: Kind, strategy: Strategy) -> None:
    policy = msgspec.structs.replace(EAGER, strategy=strategy)
    held = content({"a": "new", "b": ""}, NEW, changed_keys=frozenset("ba"))
    seen = snapshot({APP: held}, OLD, kind=kind, policy=policy)

    found = decide(seen, NOW)

    wanted = {"configmap/app": digest(APP, held)}
    lasting = strategy in {Strategy.EVICT, Strategy.RELOAD}
    number = max(5, FIRST_SECOND) + 1 if kind.copies_record else 6
    assert (found.strategy, found.message) == (strategy, "configmap/app changed (a, b)")
    assert found.record == Record(
        number,
        NOW,
        "ConfigChanged",
        wanted,
        rolled=NOW,
        by=["configmap/app"],
        keys=["a", "b"],
        how=strategy.value,
        todo=Todo(strategy.value, NOW) if lasting else None,
    )
    assert found.changes == (Change(APP, "configmap/app", NEW, frozenset("ab")),)


@pytest.mark.parametrize(
    ("strategy", "job", "pods", "told"),
    [
        (Strategy.STAMP, "", 2, "rolled: "),
        (Strategy.EVICT, "", 2, "evicting 2 pods: "),
        (Strategy.EVICT, "", 1, "evicting 1 pod: "),
        (Strategy.EVICT, "", None, "evicting its pods: "),
        (Strategy.RELOAD, "", 3, "asking 3 pods to reload: "),
        (Strategy.TRIGGER, "nightly-1", None, "started Job nightly-1: "),
    ],
)
def test_an_event_says_what_was_done_to_how_many(
    strategy: Strategy, job: str, pods: int | None, told: str
) -> None:
    change = Change(APP, "configmap/app", NEW)
    plan = Plan(Reason.CONFIG_CHANGED, "", strategy=strategy, changes=(change,))
    assert done(plan, job, pods) == told


def test_only_the_keys_that_are_used_are_told() -> None:
    ref = reference(configmap("app"), "a", "b", without=frozenset("b"))
    held = content({"a": "new", "b": "new", "c": "new"}, NEW, changed_keys=frozenset("abc"))
    old = Record(5, NOW, "", {"configmap/app#a": "old"})

    found = decide(snapshot({ref: held}, old), NOW)

    assert found.message == "configmap/app#a changed"


def test_several_changes_are_one_roll() -> None:
    other = reference(configmap("other"))
    found = decide(
        snapshot({APP: HELD, other: HELD}, record(configmap_app="old", configmap_other="old")), NOW
    )

    assert found.message == "configmap/app, configmap/other changed"
    assert len(found.changes) == 2


def test_a_stamp_that_the_template_has_already_is_made_another() -> None:
    """The pods have another content, so the same value would replace none of them."""
    value = decide(snapshot({APP: HELD}, OLD), NOW).stamp

    for name in (STAMP, STAMP_ENV):
        found = decide(snapshot({APP: HELD}, OLD, changes={"marks": {name: value}}), NOW)
        assert found.record is not None
        assert found.stamp == f"{value}-{found.record.n}"


def test_work_of_an_earlier_roll_goes_on_until_something_changes_or_is_missing() -> None:
    todo = Todo("evict", NOW)
    current, old = (msgspec.structs.replace(one, todo=todo) for one in (CURRENT, OLD))

    finished = msgspec.structs.replace(current, n=current.n + 1, todo=None)
    assert decide(snapshot({APP: HELD}, current), NOW).actions == (
        Evict(NOW), Patch((WriteRecord(finished),)),
    )  # fmt: skip
    assert decide(snapshot({APP: HELD}, old), NOW).strategy is Strategy.STAMP
    assert decide(snapshot({APP: Absence.MISSING}, current), NOW).reason is Reason.SOURCE_MISSING


# Debouncing


@pytest.mark.parametrize(
    ("waiting", "quiet", "until"),
    [
        pytest.param(None, None, 1.0, id="just noticed: a second of quiet from now"),
        pytest.param(0.5, 0.5, 0.5, id="noticed a while ago: the rest of it"),
        pytest.param(5.0, 0.2, 0.8, id="changed again: quiet starts anew"),
        pytest.param(9.9, 0.0, 0.1, id="never quiet: the limit counts"),
        pytest.param(1.0, 1.0, None, id="quiet for long enough"),
        pytest.param(10.0, 0.0, None, id="the limit is reached"),
    ],
)
def test_a_roll_waits_for_quiet_but_not_for_ever(
    waiting: float | None, quiet: float | None, until: float | None
) -> None:
    waiting_since, quiet_since = (
        None if seconds is None else NOW - timedelta(seconds=seconds)
        for seconds in (waiting, quiet)
    )
    seen = snapshot(
        {APP: HELD}, OLD, policy=Policy(enabled=True),
        waiting_since=waiting_since, quiet_since=quiet_since,
    )  # fmt: skip

    found = decide(seen, NOW)

    if until is None:
        assert found.strategy
    else:
        assert found.reason is Reason.DEBOUNCING
        assert found.look_at == NOW + timedelta(seconds=until)


def test_a_workload_that_asks_for_more_quiet_than_the_limit_gets_it() -> None:
    policy = Policy(enabled=True, debounce=timedelta(minutes=1))
    since = NOW - timedelta(seconds=30)

    found = decide(snapshot({APP: HELD}, OLD, policy=policy, waiting_since=since), NOW)

    assert found.look_at == since + timedelta(minutes=1)
