"""What Wave's annotations come to: who is in, for which sources, and what is undone."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.build import DEPLOYMENT, EAGER, NOW, configmap, content, marks, reference, snapshot

from reroll.core.decide import actions
from reroll.core.decide.chains import decide
from reroll.core.dialects.rows import Opinion, Options, PolicyInput
from reroll.core.dialects.table import ALL, Dialects
from reroll.core.dialects.wave import NO_SCHEDULER, WAVE
from reroll.core.model.key import Key
from reroll.core.model.podspec import PodSpec
from reroll.core.model.record import Record
from reroll.core.observe.snapshot import Absence, History
from reroll.core.policy.patterns import Pattern
from reroll.core.policy.policy import Policy, Repair
from reroll.core.tables.kinds import Strategy
from reroll.core.tables.reasons import Reason
from reroll.core.tables.source_kinds import SOURCE_KINDS

WEB = Key("Deployment", "shop", "web")
IN = "wave.pusher.com/update-on-config-change"
CONFIGMAPS = "wave.pusher.com/extra-configmaps"
SECRETS = "wave.pusher.com/extra-secrets"
DISABLED = "wave.pusher.com/scheduling-disabled"
IGNORE = "wave.pusher.com/ignore"
ANNOTATED = "wave.pusher.com/update-deployment-on-config-change"
HASH = "wave.pusher.com/config-hash"


def told(annotations: Mapping[str, str], default: Policy | None = None) -> PolicyInput:
    return PolicyInput(WEB, DEPLOYMENT, annotations, {}, {}, default or Policy())


def opinion(annotations: Mapping[str, str]) -> Opinion:
    return WAVE.read(told(annotations), Options())


# Who is in


def test_exactly_true_opts_in_for_every_kind_of_source() -> None:
    found = opinion({IN: "true"})

    assert found.enabled is True
    assert found.claims[0].kinds == {row.name for row in SOURCE_KINDS}
    assert found.problems == ()


@pytest.mark.parametrize("text", ["True", "1", "yes", " true", "only_annotated"])
def test_a_value_that_wave_does_not_take_opts_nobody_in_and_is_told(text: str) -> None:
    found = opinion({IN: text})

    assert found.enabled is None
    assert found.problems[0].sentence == (
        f'annotation {IN} on Deployment shop/web: {text!r} is neither "true" nor "only-annotated"'
    )


def test_false_is_no_mistake_and_takes_it_out_of_what_everybody_is_in() -> None:
    assert opinion({IN: "false"}).problems == ()
    assert ALL.policy(told({IN: "false"}, Policy(enabled=True))).enabled is False
    assert ALL.policy(told({}, Policy(enabled=True))).enabled is True


def test_annotations_of_others_say_nothing() -> None:
    assert opinion({"reroll.dev/enabled": "true"}) == Opinion()


# Which sources count


def test_extra_sources_are_named_with_and_without_a_namespace() -> None:
    found = opinion({IN: "true", CONFIGMAPS: "app,ops/ca", SECRETS: "db"})

    assert found.claims[0].named == (
        Pattern("ConfigMap", None, "app"),
        Pattern("ConfigMap", "ops", "ca"),
        Pattern("Secret", None, "db"),
    )


def test_blanks_around_the_items_of_a_list_do_no_harm() -> None:
    named = opinion({IN: "true", CONFIGMAPS: "app, ops/ca ,"}).claims[0].named

    assert [pattern.name for pattern in named] == ["app", "ca"]


@pytest.mark.parametrize("item", ["a/b/c", "/app", "ops/", "App", "a b", "*"])
def test_an_item_that_is_no_name_is_told_and_the_others_count(item: str) -> None:
    found = opinion({IN: "true", SECRETS: f"db,{item}"})

    assert [pattern.name for pattern in found.claims[0].named] == ["db"]
    where = f"annotation {SECRETS} on Deployment shop/web"
    assert found.problems[0].sentence == (
        f'{where}: {item!r} is not a name; write e.g. "app" or "shop/app"'
    )


@given(st.text(max_size=40), st.text(max_size=40), st.text(max_size=20))
def test_whatever_people_write_is_a_pattern_or_a_problem(
    text: str, extra: str, before: str
) -> None:
    found = opinion({IN: text, CONFIGMAPS: extra, SECRETS: extra, DISABLED: before})
    also = opinion({IN: "true", CONFIGMAPS: extra})

    assert found.enabled in {None, False} or text in {"true", "only-annotated"}
    assert all(not pattern.is_glob for pattern in also.claims[0].named)


@pytest.mark.parametrize(
    ("value", "annotations", "counts"),
    [
        ("true", {}, True),
        ("true", {IGNORE: "true"}, False),
        ("true", {IGNORE: "True"}, True),
        ("true", {ANNOTATED: "true"}, True),
        ("only-annotated", {}, False),
        ("only-annotated", {ANNOTATED: "true"}, True),
        ("only-annotated", {ANNOTATED: "false"}, False),
        ("only-annotated", {ANNOTATED: "true", IGNORE: "true"}, False),
    ],
)
def test_a_source_says_whether_it_counts(
    value: str, annotations: dict[str, str], counts: bool
) -> None:
    term = opinion({IN: value}).claims[0].term

    assert term.hold(ALL.source_marks(annotations)) is counts


# The hash


def values_wanted(annotations: Mapping[str, str], **spec: Any) -> tuple[Key, ...]:
    assert WAVE.of_values is not None
    return WAVE.of_values(WEB, msgspec.convert(spec, PodSpec), annotations).sources


def test_the_hash_is_made_of_the_template_and_the_extra_sources() -> None:
    spec = {"containers": [{"name": "a", "envFrom": [{"secretRef": {"name": "db"}}]}]}

    assert values_wanted({CONFIGMAPS: "ops/ca,app"}, **spec) == (
        Key("ConfigMap", "ops", "ca"),
        Key("ConfigMap", "shop", "app"),
        Key("Secret", "shop", "db"),
    )


def test_items_that_wave_would_not_find_are_no_part_of_the_hash() -> None:
    assert values_wanted({SECRETS: "a, b,x/y/z,,ops/c"}) == (
        Key("Secret", "shop", "a"),
        Key("Secret", "ops", "c"),
    )


def test_values_are_only_wanted_for_stamps_of_workloads_of_the_dialect() -> None:
    assert ALL.of_values(("reroll", "wave"), Strategy.STAMP) == (WAVE.of_values,)
    assert ALL.of_values(("reroll",), Strategy.STAMP) == ()
    assert ALL.of_values(("wave",), Strategy.EVICT) == ()
    assert ALL.of_values(("wave",), None) == ()


def test_with_keyed_marks_no_values_are_wanted_and_the_mark_is_our_stamp() -> None:
    keyed = Dialects(options=Options(plain=frozenset()))
    policy = keyed.policy(told({IN: "true"}, EAGER))
    app = reference(configmap("app"), terms=(policy.claims[0].term,))
    old = Record(n=5, at=NOW, why="Adopted", s={"configmap/app": "old"})
    seen = snapshot({app: content({"a": "1"})}, old, policy=policy, history=History())

    rolls = decide(seen, NOW, keyed)

    assert keyed.of_values(policy.by, Strategy.STAMP) == ()
    assert [(mark.name, mark.value) for mark in marks(rolls)] == [(HASH, rolls.stamp)]


# What Wave left behind


@pytest.mark.parametrize(
    ("text", "whole"), [("mine", "mine"), ("", "default-scheduler")], ids=["named", "unnamed"]
)
def test_the_scheduler_that_was_there_before_comes_back(text: str, whole: str) -> None:
    assert opinion({DISABLED: text}).repair == Repair(
        DISABLED, text, "schedulerName", NO_SCHEDULER, whole, waits=False
    )


def repaired(waits: bool, held: Any, enabled: bool | None = True) -> Any:
    repair = Repair(DISABLED, "", "schedulerName", NO_SCHEDULER, "default-scheduler", waits)
    policy = msgspec.structs.replace(EAGER, enabled=enabled, repair=repair)
    return decide(snapshot({reference(configmap("app")): held}, policy=policy), NOW)


def test_a_workload_that_must_not_start_yet_stays_as_it_is() -> None:
    assert repaired(True, Absence.MISSING).reason is Reason.SOURCE_MISSING
    assert repaired(True, Absence.UNREAD).reason is Reason.WAITING


def test_it_is_repaired_once_its_configuration_is_there() -> None:
    decided = repaired(True, content({"a": "1"}))

    assert decided.reason is Reason.REPAIRED
    assert decided.has(actions.Repair)
    assert decided.record is None


def test_one_that_wave_no_longer_looks_after_is_repaired_at_once() -> None:
    assert repaired(False, Absence.MISSING).reason is Reason.REPAIRED
    assert repaired(False, Absence.MISSING, enabled=None).reason is Reason.REPAIRED
    assert opinion({DISABLED: "", IN: "true"}).repair.waits  # type: ignore[union-attr]
    assert not opinion({DISABLED: "", IN: "false"}).repair.waits  # type: ignore[union-attr]
