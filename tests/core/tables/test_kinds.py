"""The tables of kinds: their rows agree with each other and with what people write."""

import pytest

from reroll.core.tables.catalog import source_kind
from reroll.core.tables.kinds import KINDS, Kind, Revisions, Strategy, first_number
from reroll.core.tables.source_kinds import SOURCE_KINDS, SourceKind, Watched

each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


def test_the_kinds_are_those_that_the_documentation_promises() -> None:
    assert [(kind.name, kind.group, kind.plural) for kind in KINDS] == [
        ("Deployment", "apps", "deployments"),
        ("StatefulSet", "apps", "statefulsets"),
        ("DaemonSet", "apps", "daemonsets"),
        ("CronJob", "batch", "cronjobs"),
        ("Job", "batch", "jobs"),
        ("Rollout", "argoproj.io", "rollouts"),
    ]


def test_what_each_kind_does_by_default() -> None:
    assert {kind.name: kind.default_strategy for kind in KINDS} == {
        "Deployment": Strategy.STAMP,
        "StatefulSet": Strategy.STAMP,
        "DaemonSet": Strategy.STAMP,
        "CronJob": Strategy.NEXT_RUN,
        "Job": Strategy.NEXT_RUN,
        "Rollout": Strategy.STAMP,
    }


def test_every_strategy_is_one_that_some_kind_can_do() -> None:
    assert {strategy for kind in KINDS for strategy in kind.strategies} == set(Strategy)


@each_kind
def test_paths_begin_at_the_spec_or_the_status(kind: Kind) -> None:
    paths = [kind.template, kind.still, kind.update_strategy, kind.restart_at, kind.replicas]

    assert {path[0] for path in paths if path} <= {"spec", "status"}


@each_kind
def test_a_kind_that_can_be_undone_with_its_record_keeps_revisions(kind: Kind) -> None:
    assert not kind.copies_record or kind.revisions is not Revisions.NONE


@each_kind
def test_only_a_kind_whose_template_replaces_pods_is_rolled_by_its_template(kind: Kind) -> None:
    by_template = {Strategy.STAMP, Strategy.ENV} & set(kind.strategies)

    assert kind.replaces_pods or not by_template


def test_the_kinds_whose_controllers_have_a_deadline() -> None:
    assert {kind.name for kind in KINDS if kind.gives_up} == {"Deployment", "Rollout"}


def test_only_secrets_are_keyed_and_their_content_is_never_watched() -> None:
    for row in SOURCE_KINDS:
        assert row.keyed is (row.name == "Secret")
        assert row.keyed is (row.watched is Watched.METADATA)


@pytest.mark.parametrize("row", SOURCE_KINDS, ids=lambda row: row.name)
def test_a_source_kind_is_found_by_each_of_its_names(row: SourceKind) -> None:
    for alias in (*row.aliases, row.aliases[0].upper()):
        assert source_kind(alias) == row


@pytest.mark.parametrize("alias", ["", "deployment", "config map", "configmapx"])
def test_other_words_name_no_source_kind(alias: str) -> None:
    assert source_kind(alias) is None


def test_what_is_watched_of_a_source_kind() -> None:
    assert [row.plural_to_watch for row in SOURCE_KINDS] == [
        "configmaps", "secrets", "secretproviderclasspodstatuses",
    ]  # fmt: skip


def test_the_first_number_of_a_revision_is_in_its_history() -> None:
    written = {"deployment.kubernetes.io/revision": "7"}
    assert first_number(written, 0) == 7
    assert first_number({**written, "deployment.kubernetes.io/revision-history": "2,5"}, 0) == 2
    assert first_number({"rollout.argoproj.io/revision-history": "3, x,"}, 4) == 3
    assert first_number(None, 4) == 4
