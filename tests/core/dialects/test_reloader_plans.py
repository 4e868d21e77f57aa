"""What Reloader makes of pauses, of sources that appear or go away, and of rivals."""

# ruff: noqa: E501  the tables read best one row a line

import json
from datetime import timedelta

import msgspec
import pytest
from tests.core.build import (
    DEPLOYMENT,
    KIND,
    NOW,
    configmap,
    document,
    edits,
    marks,
    patched,
    pauses,
    reference,
    template,
    workload,
)
from tests.core.reloads import ANNOTATIONS, APP, HASH, KEYED, TERM, held, look, record, treated

from reroll.core.decide.actions import Resume
from reroll.core.decide.chains import decide
from reroll.core.dialects.reloader import PAUSED_AT
from reroll.core.dialects.reloader_marks import DELETED, LAST_RELOADED
from reroll.core.dialects.table import ALL, Dialects
from reroll.core.model.content import Term
from reroll.core.model.marks import Carrier, Mark
from reroll.core.model.record import Record, write
from reroll.core.observe.snapshot import Absence, Snapshot
from reroll.core.policy.policy import Pause
from reroll.core.tables.kinds import Kind, Strategy
from reroll.core.tables.reasons import Reason
from reroll.core.write.patches import patch

# Sources that appear and go away


def test_a_source_that_appears_is_recorded_unless_it_shall_roll() -> None:
    optional = reference(configmap("app"), required=False, terms=(TERM,))
    rolls = msgspec.structs.replace(optional, terms=(Term("reloader", on_create=True),))
    absent = record(configmap_app="absent")

    assert decide(look({optional: held()}, record=absent), NOW).reason is Reason.RECORDED
    assert decide(look({rolls: held()}, record=absent), NOW).reason is Reason.CONFIG_CHANGED


def test_a_source_that_comes_back_different_rolls_anyway() -> None:
    optional = reference(configmap("app"), required=False, terms=(TERM,))

    assert decide(look({optional: held()}), NOW).reason is Reason.CONFIG_CHANGED


def deleted(
    *, required: bool = False, on_delete: bool = True, marked: bool = True
) -> Snapshot:  # fmt: skip
    terms = (Term("reloader", on_delete=on_delete),)
    ref = reference(configmap("app"), required=required, terms=terms)
    carriers = (Carrier("web", ("STAKATER_APP_CONFIGMAP",)),) if marked else (Carrier("web", None),)
    gone = {"gone": {configmap("app"): 200}}
    return look({ref: Absence.MISSING}, changes={"containers": carriers}, **gone)


def test_a_source_that_goes_away_rolls_only_where_that_is_asked_for() -> None:
    assert decide(deleted(on_delete=False), NOW).reason is Reason.UP_TO_DATE
    assert decide(deleted(), NOW).reason is Reason.CONFIG_CHANGED
    assert marks(decide(deleted(), NOW)) == (Mark("STAKATER_APP_CONFIGMAP", None, 0),)
    # Without a variable to take away, the pods would not be replaced.
    unmarked = marks(decide(deleted(marked=False), NOW))
    assert unmarked == (Mark("STAKATER_APP_CONFIGMAP", DELETED, 0),)
    (told,) = marks(decide(deleted(), NOW, ANNOTATIONS))
    assert json.loads(told.value or "")["hash"] == DELETED


def test_a_source_that_goes_away_does_not_roll_pods_that_could_not_start() -> None:
    assert decide(deleted(required=True), NOW).reason is Reason.SOURCE_MISSING


# Pauses

MINUTE = Pause(timedelta(minutes=1), PAUSED_AT)


def paused(since: timedelta, *, still: bool = True, enabled: bool = True) -> Snapshot:
    """A Deployment that was paused for its changes a while ago."""
    pause = msgspec.structs.replace(MINUTE, since=NOW - since)
    policy = msgspec.structs.replace(treated(pause=pause), enabled=enabled)
    return look({APP: held()}, policy=policy, changes={"still": still})


def test_a_roll_pauses_and_is_looked_at_again_when_that_is_over() -> None:
    seen = look({APP: held()}, policy=treated(pause=MINUTE))

    found = decide(seen, NOW)

    assert (found.reason, pauses(found)) == (Reason.CONFIG_CHANGED, True)
    assert found.look_at == NOW + timedelta(minutes=1)
    before = document(DEPLOYMENT, template(), annotations={"reroll.dev/state": seen.workload.record_text})  # fmt: skip
    after = patched(before, patch(seen.workload, DEPLOYMENT, edits(found)))
    assert after["spec"]["paused"] is True
    assert after["metadata"]["annotations"][PAUSED_AT] == "2026-03-01T12:00:00Z"


def test_changes_during_the_pause_are_gathered_and_do_not_prolong_it() -> None:
    found = decide(paused(timedelta(seconds=20)), NOW)

    assert (found.reason, pauses(found)) == (Reason.CONFIG_CHANGED, None)
    assert found.look_at == NOW + timedelta(seconds=40)


@pytest.mark.parametrize(
    "seen",
    [
        paused(timedelta(seconds=60)),
        paused(timedelta(seconds=1), still=False),
        paused(timedelta(seconds=1), enabled=False),
    ],
    ids=["its time has come", "somebody ended it", "somebody opted out"],
)
def test_a_pause_ends(seen: Snapshot) -> None:
    found = decide(seen, NOW)

    assert (found.reason, pauses(found), found.look_at) == (Reason.RESUMED, False, None)
    assert found.record is not None
    assert seen.workload.record is not None
    assert (found.record.s, found.record.n) == (seen.workload.record.s, seen.workload.record.n + 1)


@pytest.mark.parametrize("still", [True, False])
def test_ending_a_pause_takes_its_mark_along(still: bool) -> None:
    annotations = {"reroll.dev/enabled": "true", PAUSED_AT: "2026-03-01T11:00:00Z"}
    before = document(DEPLOYMENT, annotations=annotations)
    before["spec"] |= {"paused": True} if still else {}

    resumed = patch(workload(DEPLOYMENT, before), DEPLOYMENT, [Resume(PAUSED_AT)])
    after = patched(before, resumed)

    assert PAUSED_AT not in after["metadata"]["annotations"]
    assert "paused" not in after["spec"]


def test_a_pause_of_somebody_else_is_left_alone() -> None:
    seen = look({APP: held()}, policy=treated(pause=MINUTE), changes={"still": True})

    assert decide(seen, NOW).reason is Reason.PAUSED


def test_what_was_left_paused_before_it_was_adopted_goes_on() -> None:
    seen = paused(timedelta(hours=1))
    new = msgspec.structs.replace(seen.workload, record=None, record_text=None)

    found = decide(msgspec.structs.replace(seen, workload=new), NOW)

    assert (found.reason, found.record, pauses(found)) == (Reason.RESUMED, None, False)


RESTING = [
    (KIND["StatefulSet"], Strategy.STAMP),
    (KIND["DaemonSet"], Strategy.STAMP),
    (DEPLOYMENT, Strategy.EVICT),
]


@pytest.mark.parametrize(("kind", "strategy"), RESTING, ids=["StatefulSet", "DaemonSet", "evicted"])
def test_what_cannot_be_paused_holds_the_next_roll(kind: Kind, strategy: Strategy) -> None:
    policy = treated(pause=MINUTE, strategy=strategy)
    just = Record(n=7, at=NOW, why="x", s={"configmap/app": "old"}, rolled=NOW - timedelta(seconds=20))  # fmt: skip

    found = decide(look({APP: held()}, policy=policy, record=just, kind=kind), NOW)
    later = decide(
        look({APP: held()}, policy=policy, record=just, kind=kind), NOW + timedelta(seconds=40)
    )

    assert (found.reason, found.look_at) == (Reason.RESTING, NOW + timedelta(seconds=40))
    assert (later.reason, pauses(later)) == (Reason.CONFIG_CHANGED, None)


# Two controllers


def theirs(value: str, dialects: Dialects = ALL, **marks: str) -> list[Reason]:
    changes = {"remarked": True, "marks": {"STAKATER_APP_CONFIGMAP": value, **marks}}
    return [p.reason for p in decide(look({APP: held()}, changes=changes), NOW, dialects).problems]


def test_marks_that_somebody_else_made_of_the_present_content_tell_of_another_controller() -> None:
    last = json.dumps({"type": "CONFIGMAP", "name": "app", "namespace": "shop", "hash": HASH,
                       "containerRefs": [], "observedAt": 1})  # fmt: skip

    assert theirs(HASH) == [Reason.OTHER_CONTROLLER]
    assert theirs("", **{LAST_RELOADED: last}) == [Reason.OTHER_CONTROLLER]
    assert theirs("an older one") == []
    assert theirs("", **{LAST_RELOADED: "oops"}) == []
    assert theirs("a" * 40, KEYED) == [Reason.OTHER_CONTROLLER]


def test_our_own_marks_tell_of_nobody() -> None:
    seen = look({APP: held()}, changes={"marks": {"STAKATER_APP_CONFIGMAP": HASH}})

    assert decide(seen, NOW).problems == ()


OURS = Record(n=1, at=NOW, why="ConfigChanged", s={})


def test_a_template_with_other_marks_and_the_same_record_was_written_by_somebody_else() -> None:
    before = workload(DEPLOYMENT, document(DEPLOYMENT, template(env=[])))
    env = [{"name": "STAKATER_APP_CONFIGMAP", "value": HASH}]
    after = document(DEPLOYMENT, template(env=env), version=101, generation=2)
    ours = document(DEPLOYMENT, template(env=env), version=101, generation=2,
                    annotations={"reroll.dev/state": write(OURS)})  # fmt: skip
    status = document(DEPLOYMENT, template(env=env), version=102, generation=2)

    seen = workload(DEPLOYMENT, after, before)
    assert seen.remarked
    assert workload(DEPLOYMENT, status, seen).remarked
    assert not workload(DEPLOYMENT, ours, before).remarked
