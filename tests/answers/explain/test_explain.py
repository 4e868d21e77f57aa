"""One decision taken apart, from plain values."""

from datetime import timedelta
from typing import Any

import pytest
from tests.core.build import EAGER, KIND, NOW, configmap, content, reference, secret, snapshot

from reroll.answers.explain.explain import Explanation, Source, State, explain
from reroll.answers.explain.provenance import DEFAULT, SETTINGS, Provenance, provenance
from reroll.core.decide.chains import GATES, Answer, decide
from reroll.core.dialects.rows import PolicyInput
from reroll.core.dialects.table import ALL
from reroll.core.model.content import Content
from reroll.core.model.digest import reference_digest
from reroll.core.model.key import Key
from reroll.core.model.moment import Moment
from reroll.core.model.pace import Pace, Parallel, Rolls
from reroll.core.model.record import Record
from reroll.core.model.reference import Reference
from reroll.core.model.timing import ANY_TIME
from reroll.core.model.windows import Windows
from reroll.core.observe.provenance import Write, Writes
from reroll.core.observe.snapshot import Absence
from reroll.core.policy.policy import Policy
from reroll.core.policy.windows import parse_windows
from reroll.core.tables.kinds import Strategy

APP, DB = reference(configmap("app")), reference(secret("db"), "password")
HELD = content({"a": "new"}, Moment(200, 201, NOW))
OUT = Policy(debounce=timedelta())
WEB = Key("Deployment", "shop", "web")


def recorded(entry: str, digest: str) -> Record:
    return Record(n=5, at=NOW, why="Adopted", s={entry: digest})


def explained(
    sources: dict[Reference, Content | Absence], record: Record | None = None, **more: Any
) -> Explanation:
    seen = snapshot(sources, record, **more)
    return explain(seen, decide(seen, NOW, ALL), {}, NOW, ALL)


def source(found: Explanation) -> Source:
    [one] = found.sources
    return one


@pytest.mark.parametrize(
    ("there", "record", "state"),
    [
        (HELD, recorded("configmap/app", reference_digest(APP, HELD, "") or ""), State.SAME),
        (HELD, recorded("configmap/app", "old"), State.CHANGED),
        (content({"a": "new"}, Moment(by=90)), None, State.NEW),
        (Absence.MISSING, None, State.MISSING),
        (Absence.UNREAD, None, State.UNREAD),
        (Absence.FORBIDDEN, recorded("configmap/app", "old"), State.UNREAD),
        (content({"a": "new"}, ignored=True), recorded("configmap/app", "old"), State.IGNORED),
    ],
)
def test_what_a_source_holds_against_the_record(
    there: Content | Absence, record: Record | None, state: State
) -> None:
    assert source(explained({APP: there}, record)).state is state


def test_a_key_that_is_missing_is_named() -> None:
    needs = reference(configmap("app"), "b", required_keys=frozenset("b"))
    one = source(explained({needs: HELD}))
    assert (one.state, one.why) == (State.MISSING, "no b in it")


def test_an_optional_source_that_is_not_there_is_no_trouble() -> None:
    one = source(explained({reference(configmap("app"), required=False): Absence.MISSING}))
    assert (one.state, one.why) == (State.ABSENT, "it is optional")


def test_gates_are_asked_until_one_settles_the_matter() -> None:
    found = explained({APP: HELD}, recorded("configmap/app", "old"), policy=OUT)

    assert [one.gate for one in found.answers] == list(GATES)
    by_gate = {one.gate: one for one in found.answers}
    assert by_gate["ended"] == Answer("ended", False)
    assert by_gate["not enabled"] == Answer("not enabled", True, "the workload did not opt in")
    assert by_gate["unchanged"].holds is None
    assert found.if_in is not None
    assert found.if_in.reason.word == "ConfigChanged"


def test_whoever_is_in_needs_no_supposing() -> None:
    found = explained({APP: HELD}, recorded("configmap/app", "old"), policy=EAGER)
    assert found.if_in is None
    assert found.plan.reason.word == "ConfigChanged"
    assert all(one.holds is False for one in found.answers)


def test_the_last_writer_of_the_keys_in_use_is_told() -> None:
    known = Writes(
        None,
        (
            Write("ops", NOW, frozenset(("password",)), True),
            Write("late", NOW + timedelta(days=1), frozenset(("user",)), True),
        ),
    )
    held = content({"password": "x"}, hmac={"k": b"1"})
    seen = snapshot({DB: held}, None)
    [one] = explain(seen, decide(seen, NOW, ALL), {DB.source: known}, NOW, ALL).sources
    assert one.last is not None
    assert one.last.by == "ops"


# What decided


def said(**places: dict[str, str]) -> PolicyInput:
    given = {"workload": {}, "template": {}, "namespace": {}, **places}
    return PolicyInput(WEB, KIND["Deployment"], **given, default=Policy())


def because(
    one: PolicyInput, policy: Policy, default: Policy | None = None, **rows: str
) -> dict[str, Provenance]:
    asked = one._replace(default=default or Policy())
    by_field = {field.replace("__", "."): place for field, place in rows.items()}
    return {each.name: each for each in provenance(asked, policy, ALL, by_field)}


def test_without_a_word_defaults_decide() -> None:
    found = because(said(), Policy())
    assert found["enabled"][1:] == ("not said", DEFAULT)
    assert found["strategy"][1:] == ("stamp", "what a Deployment does by default")
    assert found["mounts"][1:] == ("frozen", DEFAULT)
    assert found["debounce"][1:] == ("1s", DEFAULT)
    assert set(found) == {"enabled", "strategy", "mounts", "debounce", "revisions"}


def test_whose_mark_a_roll_writes_is_told_with_its_strategy() -> None:
    both = {"reloader.stakater.com/auto": "true", "wave.pusher.com/update-on-config-change": "true"}
    told = said(workload=both)
    usual = "what a Deployment does by default"
    for asked, mark in ((told, ", with the mark of reloader and of wave"), (said(), "")):
        found = because(asked, ALL.policy(asked))
        assert found["strategy"][1:] == ("stamp", usual + mark)


def test_settings_are_told_from_defaults() -> None:
    default = Policy(enabled=True, mounts_are_live=True, debounce=timedelta(seconds=9))
    found = because(said(), default, default)
    assert found["enabled"][1:] == ("true", SETTINGS)
    assert found["mounts"][1:] == ("live", SETTINGS)
    assert found["debounce"][1:] == ("9s", SETTINGS)


def test_a_row_of_the_settings_is_named() -> None:
    default = Policy(pace=Pace(wave=2, soak=timedelta(minutes=1)), strategy=Strategy.RESTART)
    found = because(said(), default, default, pace__wave="policies[3]", strategy="policies[0]")
    assert found["wave"][1:] == ("2", "policies[3] of the settings")
    assert found["strategy"][1:] == ("restart", "policies[0] of the settings")
    assert found["soak"][1:] == ("1m", SETTINGS)


def test_a_pace_is_shown_as_it_is_written() -> None:
    pace = Pace(max_parallel=Parallel(percent=10), max_rolls=Rolls(5, timedelta(hours=1)))
    found = because(said(), Policy(pace=pace))
    assert found["max-parallel"].value == "10%"
    assert found["max-rolls"].value == "5/1h"


def test_windows_are_shown_as_they_are_written_also_those_that_cannot_be_read() -> None:
    window = parse_windows("nights; daily 02:00+3h UTC")
    default = Policy(window=window, before_expiry=ANY_TIME)
    found = because(said(), default, default, window="policies[0]")
    assert found["window"][1:] == ("nights; daily 02:00+3h UTC", "policies[0] of the settings")
    assert found["urgent-before-expiry"].value == "true"
    odd = said(workload={"reroll.dev/window": "at noon"})
    told = because(odd, Policy(window=Windows(problem="odd")))["window"]
    assert told[1:] == ("at noon", "annotation reroll.dev/window on Deployment shop/web")


def test_a_word_on_the_workload_comes_before_one_on_its_namespace() -> None:
    both = {"reroll.dev/mounts": "live"}
    policy = Policy(mounts_are_live=True)
    near = because(said(workload=both, namespace=both), policy)["mounts"]
    far = because(said(namespace=both), policy)["mounts"]
    assert near.because == "annotation reroll.dev/mounts on Deployment shop/web"
    assert far.because == "annotation reroll.dev/mounts on Namespace shop"


def test_a_word_that_cannot_be_used_decides_nothing() -> None:
    found = because(said(workload={"reroll.dev/mounts": "dead"}), Policy())
    assert found["mounts"].because == DEFAULT


def test_words_of_other_dialects_are_listed_with_their_place() -> None:
    key = "reloader.stakater.com/auto"
    found = because(said(workload={key: "true"}), Policy(enabled=True))
    assert found[key][1:] == ("true", "reloader, on Deployment shop/web")
