"""What Reloader leaves in a pod template, and what it makes of pauses, new and deleted sources."""

# ruff: noqa: E501  the tables read best one row a line

import hashlib
import json
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.build import (
    DEPLOYMENT,
    KIND,
    NOW,
    at_path,
    configmap,
    content,
    document,
    patched,
    reference,
    secret,
    snapshot,
    template,
    workload,
)

from reroll.core.compare import Absence, Snapshot
from reroll.core.dialects.reloader import PAUSED_AT
from reroll.core.dialects.reloader_marks import (
    DELETED,
    LAST_RELOADED,
    carrier,
    hash_source,
    variable,
)
from reroll.core.dialects.rows import Options, Plain
from reroll.core.dialects.table import ALL, Dialects
from reroll.core.kinds import SOURCE_KINDS, Kind, Strategy
from reroll.core.marks import Mark, write_marks
from reroll.core.objects import Content, Key, Moment, Reference, Term
from reroll.core.patches import patch
from reroll.core.plan import Plan, plan
from reroll.core.policy import Claim, Pause, Policy
from reroll.core.reasons import Reason
from reroll.core.records import Record

KINDS_OF_SOURCES = frozenset(row.name for row in SOURCE_KINDS)
TERM = Term("reloader", on_create=False)
APP = reference(configmap("app"), terms=(TERM,))
DB = reference(secret("db"), terms=(TERM,))
HASH = "8b4c25a7d47e34be1ba4e9cf4a1aa6d6d4e2e0a1"
ANNOTATIONS = Dialects(options=Options(annotate=True))
KEYED = Dialects(options=Options(keyed=True))


def treated(**more: Any) -> Policy:
    claim = Claim(TERM, KINDS_OF_SOURCES)
    return Policy(enabled=True, debounce=timedelta(), claims=(claim,), **more)


def held(value: str = "v", hash_: str = HASH, **more: Any) -> Content:
    return content({"a": value}, Moment(200, 201), hashes=(("reloader", hash_),), **more)


def record(**entries: str) -> Record:
    named = {name.replace("_", "/"): digest for name, digest in entries.items()}
    return Record(n=7, at=NOW - timedelta(hours=1), why="x", s=named)


def look(sources: dict[Reference, Any], *, policy: Policy | None = None, **more: Any) -> Snapshot:
    entries = {ref.entry("shop").replace("/", "_"): "old" for ref in sources}
    more.setdefault("record", record(**entries))
    seen = snapshot(sources, policy=policy or treated(), **more)
    return msgspec.structs.replace(seen, history=None)


# Names, hashes and places

NAMES = {
    "app": "STAKATER_APP_CONFIGMAP",
    "my-app.config": "STAKATER_MY_APP_CONFIG_CONFIGMAP",
    "a--b": "STAKATER_A_B_CONFIGMAP",
    "1-a": "STAKATER_1_A_CONFIGMAP",
    "my.-app": "STAKATER_MY_APP_CONFIGMAP",
}


@pytest.mark.parametrize(("name", "expected"), NAMES.items(), ids=NAMES)
def test_the_variable_is_named_after_the_source(name: str, expected: str) -> None:
    assert variable(configmap(name)) == expected


def test_the_kind_is_a_part_of_the_name() -> None:
    assert variable(secret("db")) == "STAKATER_DB_SECRET"
    assert variable(Key("SecretProviderClass", "shop", "vault")) == "STAKATER_VAULT_SECRETPROVIDERCLASS"  # fmt: skip


VECTORS = {
    # Each is the SHA-1 of the text beside it, as `sha1sum` tells it.
    "nothing": ({}, {}, ""),
    "one value": ({"key": b"value"}, {}, "key=value"),
    "sorted": ({"b": b"2", "a": b"1"}, {}, "a=1;b=2"),
    "binary": ({"a": b"1"}, {"c": b"\x00\xff"}, "a=1;c=AP8="),
    "sorted as pieces": ({"a": b"1", "a-b": b"2"}, {}, "a-b=2;a=1"),
}


@pytest.mark.parametrize(("texts", "binaries", "text"), VECTORS.values(), ids=VECTORS)
def test_the_hash_of_a_source(texts: Any, binaries: Any, text: str) -> None:
    found = hash_source(Plain(configmap("app"), texts, binaries))

    assert found == hashlib.sha1(text.encode()).hexdigest()


def test_the_hash_of_known_values_never_changes() -> None:
    plain = Plain(configmap("app"), {"key": b"value"})
    vault = Plain(Key("SecretProviderClass", "shop", "vault"), {"secret/db": b"v2"})

    assert hash_source(plain) == "dc30e0faa89a70dec1033016a2309bbeb9efcbd0"
    text = b"SecretProviderClassName=vault;secret/db=v2"
    assert hash_source(vault) == hashlib.sha1(text).hexdigest()
    assert hashlib.sha1(b"__RELOADER_EMPTY_DELETE_MARKER__").hexdigest() == DELETED


@given(st.dictionaries(st.text(max_size=4), st.binary(max_size=4)))
def test_the_hash_does_not_depend_on_the_order(values: dict[str, bytes]) -> None:
    turned = dict(reversed(values.items()))

    assert hash_source(Plain(secret("db"), values)) == hash_source(Plain(secret("db"), turned))


def pods(*containers: dict[str, Any], init: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    volumes = [{"name": "v", "configMap": {"name": "app"}}]
    return {"spec": {"containers": list(containers), "initContainers": init or [], "volumes": volumes}}  # fmt: skip


USES = {"envFrom": [{"configMapRef": {"name": "app"}}]}
MOUNTS = {"volumeMounts": [{"name": "v", "mountPath": "/x"}]}
PLACES: dict[str, tuple[dict[str, Any], int]] = {
    "nobody uses it": (pods({"name": "a"}, {"name": "b"}), 0),
    "the one that uses it": (pods({"name": "a"}, {"name": "b", **USES}), 1),
    "the one that mounts it goes first": (pods({"name": "a", **USES}, {"name": "b", **MOUNTS}), 1),
    "the first of several": (pods({"name": "a"}, {"name": "b", **USES}, {"name": "c", **USES}), 1),
    "an init container has it": (pods({"name": "a"}, {"name": "b"}, init=[{"name": "i", **USES}]), 0),
    "an init container mounts it": (
        pods({"name": "a"}, {"name": "b", **USES}, init=[{"name": "i", **MOUNTS}]), 0,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("body", "place"), PLACES.values(), ids=PLACES)
def test_the_mark_goes_where_reloader_puts_it(body: dict[str, Any], place: int) -> None:
    assert carrier(workload(DEPLOYMENT, document(DEPLOYMENT, body)), configmap("app")) == place


# Marks of a roll


def test_each_source_that_changed_gets_its_variable() -> None:
    found = plan(look({APP: held(), DB: held(hash_="h2")}), NOW)

    assert found.reason is Reason.CONFIG_CHANGED
    assert found.marks == (
        Mark("STAKATER_APP_CONFIGMAP", HASH, 0),
        Mark("STAKATER_DB_SECRET", "h2", 0),
    )


def test_a_source_that_did_not_change_gets_none() -> None:
    seen = look({APP: held(), DB: held()})
    now = plan(seen, NOW).record
    assert now is not None
    again = look({APP: held(), DB: held("other")}, record=msgspec.structs.replace(now, n=8))

    assert [mark.name for mark in plan(again, NOW).marks] == ["STAKATER_DB_SECRET"]


def test_an_annotation_tells_of_the_last_source_as_json() -> None:
    (mark,) = plan(look({APP: held(), DB: held(hash_="h2")}), NOW, ANNOTATIONS).marks

    assert (mark.name, mark.container) == (LAST_RELOADED, None)
    assert mark.value == (
        '{"type":"SECRET","name":"db","namespace":"shop","hash":"h2",'
        f'"containerRefs":["web"],"observedAt":{int(NOW.timestamp())}}}'
    )


def test_a_value_that_is_there_already_is_made_another() -> None:
    seen = look({APP: held()}, changes={"marks": {"STAKATER_APP_CONFIGMAP": HASH}})

    found = plan(seen, NOW)

    assert found.record is not None
    assert found.marks[0].value == f"{HASH}-{found.record.n}"


def test_keyed_digests_can_stand_in_for_hashes() -> None:
    seen = look({APP: content({"a": "v"}, Moment(200, 201))})
    seen = msgspec.structs.replace(
        seen, references=(reference(configmap("app"), terms=(Term("reloader"),)),)
    )

    (mark,) = plan(seen, NOW, KEYED).marks

    assert mark.value == plan(seen, NOW, KEYED).record.s["configmap/app"]


def test_a_hash_that_is_needed_is_waited_for() -> None:
    needs = reference(configmap("app"), terms=(Term("reloader", hashed=True),))

    found = plan(look({needs: content({"a": "v"}, Moment(200, 201))}), NOW)

    assert found.reason is Reason.WAITING


@pytest.mark.parametrize("strategy", [Strategy.RESTART, Strategy.EVICT, Strategy.NOTIFY])
def test_other_ways_to_roll_leave_no_marks(strategy: Strategy) -> None:
    assert plan(look({APP: held()}, policy=treated(strategy=strategy)), NOW).marks == ()


def test_a_workload_of_two_dialects_gets_the_marks_of_both() -> None:
    both = Policy(
        enabled=True,
        debounce=timedelta(),
        claims=(Claim(Term("reroll"), KINDS_OF_SOURCES), Claim(TERM, KINDS_OF_SOURCES)),
    )
    ours = reference(configmap("ours"), terms=(Term("reroll"),))
    shared = reference(configmap("app"), terms=(Term("reroll"), TERM))

    names = [m.name for m in plan(look({shared: held(), ours: held()}, policy=both), NOW).marks]
    alone = [m.name for m in plan(look({ours: held()}, policy=both), NOW).marks]

    assert names == ["reroll.dev/config-hash", "STAKATER_APP_CONFIGMAP"]
    assert alone == ["reroll.dev/config-hash"]


SHAPES: dict[str, Any] = {
    "no variables": None,
    "variables": [{"name": "A", "value": "1"}],
    "an old mark": [{"name": "A"}, {"name": "STAKATER_APP_CONFIGMAP", "value": "x"}, {"name": "B"}],
    "both marks": [{"name": "STAKATER_DB_SECRET"}, {"name": "STAKATER_APP_CONFIGMAP"}],
}
VALUES: dict[str, tuple[str | None, str | None]] = {
    "written": ("1", "2"),
    "taken away": (None, None),
    "one of each": (None, "2"),
    "the other of each": ("1", None),
}


@pytest.mark.parametrize("env", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_a_patch_and_a_document_say_the_same(env: Any, values: tuple[str | None, ...]) -> None:
    body = template(**({} if env is None else {"env": env}))
    before = document(DEPLOYMENT, body)
    marks = tuple(
        Mark(name, value, 0)
        for name, value in zip(
            ("STAKATER_APP_CONFIGMAP", "STAKATER_DB_SECRET"), values, strict=True
        )
    )
    decided = Plan(
        Reason.CONFIG_CHANGED, "", record=record(), roll=Strategy.STAMP, marks=marks
    )  # fmt: skip

    after = patched(before, patch(workload(DEPLOYMENT, before), DEPLOYMENT, decided))

    expected = json.loads(json.dumps(body))
    write_marks(expected, marks)
    made = at_path(after, DEPLOYMENT.template)["spec"]["containers"][0]
    wanted = expected["spec"]["containers"][0]
    assert made.get("env", []) == wanted.get("env", [])


# Sources that appear and go away


def test_a_source_that_appears_is_recorded_unless_it_shall_roll() -> None:
    optional = reference(configmap("app"), required=False, terms=(TERM,))
    rolls = msgspec.structs.replace(optional, terms=(Term("reloader", on_create=True),))
    absent = record(configmap_app="absent")

    assert plan(look({optional: held()}, record=absent), NOW).reason is Reason.RECORDED
    assert plan(look({rolls: held()}, record=absent), NOW).reason is Reason.CONFIG_CHANGED


def test_a_source_that_comes_back_different_rolls_anyway() -> None:
    optional = reference(configmap("app"), required=False, terms=(TERM,))

    assert plan(look({optional: held()}), NOW).reason is Reason.CONFIG_CHANGED


def deleted(*, required: bool = False, on_delete: bool = True) -> Snapshot:
    terms = (Term("reloader", on_delete=on_delete),)
    ref = reference(configmap("app"), required=required, terms=terms)
    gone = {"gone": {configmap("app"): 200}}
    marked = {"marks": {"STAKATER_APP_CONFIGMAP": "x"}}
    return look({ref: Absence.MISSING}, changes=marked, **gone)


def test_a_source_that_goes_away_rolls_only_where_that_is_asked_for() -> None:
    assert plan(deleted(on_delete=False), NOW).reason is Reason.UP_TO_DATE
    assert plan(deleted(), NOW).reason is Reason.CONFIG_CHANGED
    assert plan(deleted(), NOW).marks == (Mark("STAKATER_APP_CONFIGMAP", None, 0),)
    (told,) = plan(deleted(), NOW, ANNOTATIONS).marks
    assert json.loads(told.value or "")["hash"] == DELETED


def test_a_source_that_goes_away_does_not_roll_pods_that_could_not_start() -> None:
    assert plan(deleted(required=True), NOW).reason is Reason.SOURCE_MISSING


# Pauses

MINUTE = Pause(timedelta(minutes=1), PAUSED_AT)


def paused(since: timedelta, *, still: bool = True, enabled: bool = True) -> Snapshot:
    """A Deployment that was paused for its changes a while ago."""
    pause = msgspec.structs.replace(MINUTE, since=NOW - since)
    policy = msgspec.structs.replace(treated(pause=pause), enabled=enabled)
    return look({APP: held()}, policy=policy, changes={"still": still})


def test_a_roll_pauses_and_is_looked_at_again_when_that_is_over() -> None:
    seen = look({APP: held()}, policy=treated(pause=MINUTE))

    found = plan(seen, NOW)

    assert (found.reason, found.pause) == (Reason.CONFIG_CHANGED, True)
    assert found.look_at == NOW + timedelta(minutes=1)
    before = document(DEPLOYMENT, template(), annotations={"reroll.dev/state": seen.workload.record_text})  # fmt: skip
    after = patched(before, patch(seen.workload, DEPLOYMENT, found, MINUTE))
    assert after["spec"]["paused"] is True
    assert after["metadata"]["annotations"][PAUSED_AT] == "2026-03-01T12:00:00Z"


def test_changes_during_the_pause_are_gathered_and_do_not_prolong_it() -> None:
    found = plan(paused(timedelta(seconds=20)), NOW)

    assert (found.reason, found.pause) == (Reason.CONFIG_CHANGED, None)
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
    found = plan(seen, NOW)

    assert (found.reason, found.pause, found.look_at) == (Reason.RESUMED, False, None)
    assert found.record is not None
    assert seen.workload.record is not None
    assert (found.record.s, found.record.n) == (seen.workload.record.s, seen.workload.record.n + 1)


@pytest.mark.parametrize("still", [True, False])
def test_ending_a_pause_takes_its_mark_along(still: bool) -> None:
    annotations = {"reroll.dev/enabled": "true", PAUSED_AT: "2026-03-01T11:00:00Z"}
    before = document(DEPLOYMENT, annotations=annotations)
    before["spec"] |= {"paused": True} if still else {}
    decided = Plan(Reason.RESUMED, "", pause=False)

    after = patched(before, patch(workload(DEPLOYMENT, before), DEPLOYMENT, decided, MINUTE))

    assert PAUSED_AT not in after["metadata"]["annotations"]
    assert "paused" not in after["spec"]


def test_a_pause_of_somebody_else_is_left_alone() -> None:
    seen = look({APP: held()}, policy=treated(pause=MINUTE), changes={"still": True})

    assert plan(seen, NOW).reason is Reason.PAUSED


def test_what_was_left_paused_before_it_was_adopted_goes_on() -> None:
    seen = paused(timedelta(hours=1))
    new = msgspec.structs.replace(seen.workload, record=None, record_text=None)

    found = plan(msgspec.structs.replace(seen, workload=new), NOW)

    assert (found.reason, found.record, found.pause) == (Reason.RESUMED, None, False)


RESTING = [
    (KIND["StatefulSet"], Strategy.STAMP),
    (KIND["DaemonSet"], Strategy.STAMP),
    (DEPLOYMENT, Strategy.EVICT),
]


@pytest.mark.parametrize(("kind", "strategy"), RESTING, ids=["StatefulSet", "DaemonSet", "evicted"])
def test_what_cannot_be_paused_holds_the_next_roll(kind: Kind, strategy: Strategy) -> None:
    policy = treated(pause=MINUTE, strategy=strategy)
    just = Record(n=7, at=NOW, why="x", s={"configmap/app": "old"}, rolled=NOW - timedelta(seconds=20))  # fmt: skip

    found = plan(look({APP: held()}, policy=policy, record=just, kind=kind), NOW)
    later = plan(
        look({APP: held()}, policy=policy, record=just, kind=kind), NOW + timedelta(seconds=40)
    )

    assert (found.reason, found.revisit_at) == (Reason.RESTING, NOW + timedelta(seconds=40))
    assert (later.reason, later.pause) == (Reason.CONFIG_CHANGED, None)


# Two controllers


def theirs(value: str, dialects: Dialects = ALL, **marks: str) -> list[Reason]:
    changes = {"remarked": True, "marks": {"STAKATER_APP_CONFIGMAP": value, **marks}}
    return [p.reason for p in plan(look({APP: held()}, changes=changes), NOW, dialects).problems]


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

    assert plan(seen, NOW).problems == ()


def test_a_template_with_other_marks_and_the_same_record_was_written_by_somebody_else() -> None:
    before = workload(DEPLOYMENT, document(DEPLOYMENT, template(env=[])))
    env = [{"name": "STAKATER_APP_CONFIGMAP", "value": HASH}]
    after = document(DEPLOYMENT, template(env=env), version=101, generation=2)
    ours = document(DEPLOYMENT, template(env=env), version=101, generation=2,
                    annotations={"reroll.dev/state": "x"})  # fmt: skip
    status = document(DEPLOYMENT, template(env=env), version=102, generation=2)

    seen = workload(DEPLOYMENT, after, before)
    assert seen.remarked
    assert workload(DEPLOYMENT, status, seen).remarked
    assert not workload(DEPLOYMENT, ours, before).remarked
