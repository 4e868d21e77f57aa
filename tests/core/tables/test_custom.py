"""Rows of a config file into the tables; what is wrong with them, all at once."""

from typing import Any

import pytest
from tests.scenarios import custom as examples

from reroll.core.tables.custom import tables
from reroll.core.tables.custom_rows import path
from reroll.core.tables.kinds import KINDS, Counts, Kind, Naming, Revisions, Strategy
from reroll.core.tables.source_kinds import SourceKind, Watched
from reroll.settings.resolve import SettingsError, resolve

ROW = {"group": "example.com", "version": "v1", "kind": "Machine", "resource": "machines"}
SOURCE = {"group": "example.com", "version": "v1", "kind": "Settings", "resource": "settings"}


def kind(**more: Any) -> Kind:
    found, problems = tables([{**ROW, **more}], None)
    assert problems == []
    return found.kinds[-1]


def source(**more: Any) -> SourceKind:
    found, problems = tables(None, [{**SOURCE, **more}])
    assert problems == []
    return found.sources[-1]


def wrong(kinds: Any = None, sources: Any = None) -> list[str]:
    return tables(kinds, sources)[1]


def test_a_row_is_called_by_its_kind_and_group_because_kinds_of_others_may_have_the_same() -> None:
    found = kind(kind="StatefulSet", template="spec.template")

    assert (found.name, found.kind, found.group) == (
        "StatefulSet.example.com",
        "StatefulSet",
        "example.com",
    )
    assert found.template == ("spec", "template")


def test_all_of_a_row_finds_its_column() -> None:
    found = kind(
        template="spec.pod",
        references=[{"source": "secret", "path": "spec.logins[*].secretName", "optional": True}],
        revisions="controllerrevisions",
        paused="spec.paused",
        updateStrategy="spec.update.type",
        strategies=["env", "notify"],
        health={
            "replicas": "spec.size",
            "current": "status.all",
            "updated": "status.new",
            "available": "status.ready",
            "partition": "spec.update.partition",
            "condition": {"type": "Ready"},
            "observedGeneration": True,
        },
    )

    assert found.names == (Naming("Secret", ("spec", "logins", "*", "secretName"), optional=True),)
    assert found.revisions is Revisions.CONTROLLER_REVISIONS
    assert (found.still, found.update_strategy) == (("spec", "paused"), ("spec", "update", "type"))
    assert found.strategies == (Strategy.ENV, Strategy.NOTIFY)
    assert (found.replicas, found.observes) == (("spec", "size"), True)
    assert found.counts == Counts(
        ("status", "all"), ("status", "new"), ("status", "ready"),
        partition=("spec", "update", "partition"),
    )  # fmt: skip
    assert found.well
    assert (found.well.type, found.well.status) == ("Ready", "True")


STAMP = {"annotations": "spec.podMetadata.annotations"}


@pytest.mark.parametrize(
    ("row", "strategies"),
    [
        pytest.param(
            {"template": "spec.pod"}, "stamp env restart evict reload notify", id="a template"
        ),
        pytest.param({"stamp": STAMP}, "stamp restart notify", id="a place for the stamp"),
        pytest.param({"pods": {"label": "app"}}, "evict reload notify", id="pods"),
        pytest.param(
            {"stamp": STAMP, "pods": {"selector": "spec.labels"}},
            "stamp restart evict reload notify",
            id="a place and pods",
        ),
        pytest.param({}, "notify", id="nothing"),
    ],
)
def test_a_kind_can_do_what_its_row_tells_enough_for(row: Any, strategies: str) -> None:
    assert " ".join(kind(**row).strategies) == strategies


def test_a_source_has_keys_that_are_paths_and_a_name_that_never_changes() -> None:
    found = source(paths=["spec.level", "spec.servers[*].host"])

    assert found.paths == (("spec", "level"), ("spec", "servers", "*", "host"))
    assert (found.name, found.watched, found.keyed) == (
        "Settings.example.com",
        Watched.WHOLE,
        False,
    )
    assert found.aliases == ("settings", "settings.example.com")
    assert source(aliases=["Conf"]).aliases == ("conf", "settings.example.com")
    assert source().paths == (("spec",),)


def test_a_secret_source_is_watched_by_its_metadata_and_keyed() -> None:
    found = source(secret=True)

    assert (found.watched, found.keyed) == (Watched.METADATA, True)


def test_rows_may_refer_to_sources_of_the_same_file() -> None:
    row = {**ROW, "references": [{"source": "settings", "path": "spec.settings"}]}

    found, problems = tables([row], [SOURCE])

    assert problems == []
    assert found.kinds[-1].names[0].source == "Settings.example.com"


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"template": "spec..pod"}, "template: 'spec..pod' is not a path"),
        ({"template": "spec.pods[*]"}, "template: 'spec.pods[*]' has to lead to one place"),
        ({"template": "pod"}, "template: 'pod' has to begin with spec or status"),
        ({"strategies": ["env"]}, "strategies: env needs a pod template; add template"),
        ({"strategies": ["evict"]}, "strategies: evict needs to know the pods"),
        ({"strategies": ["stamp"]}, "strategies: stamp needs a place to write to"),
        ({"strategies": ["trigger"]}, "strategies: trigger is for CronJobs and Jobs only"),
        ({"strategies": ["roll"]}, "strategies: roll is no strategy; use notify"),
        ({"pods": {}}, "pods: give either a label or a selector"),
        ({"pods": {"label": "a", "selector": "spec.b"}}, "pods: give either a label or"),
        ({"stamp": {"annotations": "metadata.labels"}}, "can only be metadata.annotations there"),
        ({"stamp": {"annotations": "status.notes"}}, "has to begin with metadata or spec"),
        ({"stamp": {}}, "stamp: annotations is missing"),
        ({"revisions": "pods"}, "revisions: 'pods' is nothing that keeps templates"),
        ({"health": {"updated": "status.new"}}, "add current, available, replicas"),
        ({"health": {"conditions": {}}}, "health: there is no field 'conditions'; remove it"),
        ({"references": [{"source": "Pod", "path": "spec.a"}]}, "'Pod' is no kind of source"),
        ({"references": [{"path": "spec.a"}]}, "references[0]: source is missing"),
        ({"references": "x"}, "references: is text; write a list"),
        ({"kind": "machine"}, "kind: 'machine' cannot be one; write e.g. CloneSet"),
        ({"version": None}, "version: is missing"),
        ({"resource": ""}, "resource: '' cannot be one; write e.g. clonesets"),
        ({"plural": "x"}, "there is no field 'plural'; use kind, group, version, resource,"),
    ],
)
def test_a_malformed_row_is_told_with_its_place(row: dict[str, Any], problem: str) -> None:
    found = wrong([{**ROW, **row}])

    assert any(problem in sentence for sentence in found), found
    assert all(sentence.startswith("kinds[0] (") for sentence in found)


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"paths": []}, "paths: is empty; leave it out"),
        ({"paths": ["spec.a", "b c"]}, "paths[1]: 'b c' is not a path"),
        ({"paths": ["metadata.labels"]}, "paths[0]: 'metadata.labels' is no content"),
        ({"aliases": ["cm"]}, "aliases: 'cm' means ConfigMap already"),
        ({"group": "", "kind": "Secret"}, "Secret is in the table already"),
        ({"secret": "yes"}, "secret: is text; write true or false"),
        ({"version": None}, "version: None cannot be one; write e.g. v1alpha1"),
    ],
)
def test_a_malformed_source_is_told(row: dict[str, Any], problem: str) -> None:
    found = wrong(sources=[{**SOURCE, **row}])

    assert any(problem in sentence for sentence in found), found


def test_what_is_there_already_is_told() -> None:
    ours = {**ROW, "group": "apps", "kind": "Deployment"}

    assert wrong([ours, ROW, ROW]) == [
        "kinds: Deployment.apps is in the table already; take one row out",
        "kinds: Machine.example.com is in the table already; take one row out",
    ]
    assert wrong([{**ROW, "kind": "Settings"}], [SOURCE]) == [
        "sources: Settings.example.com is a row of kinds, and cannot be both"
    ]


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("x", "kinds: is not a list; begin each row with a dash"),
        ({"kind": "x"}, "kinds: is not a list; begin each row with a dash"),
        ([3], "kinds[0]: is not a row; write e.g. `- kind: CloneSet`"),
    ],
)
def test_what_is_no_list_of_rows_is_told(given: Any, problem: str) -> None:
    assert wrong(given) == [problem]


def test_settings_tell_all_problems_of_all_rows_at_once() -> None:
    file = {
        "debounce": "x",
        "kinds": [{**ROW, "templat3": "spec.pod", "paused": 3}, {"kind": "B"}],
        "sources": [{**SOURCE, "paths": []}],
        "exclude-kinds": "Machine.example.com",
    }
    with pytest.raises(SettingsError) as told:
        resolve({}, {}, file, "c.yaml")

    places = [sentence.split(": ")[1:3] for sentence in told.value.problems]
    assert ["kinds[0] (Machine)", "paused"] in places
    assert ["kinds[1] (B)", "version"] in places
    assert ["sources[0] (Settings)", "paths"] in places
    assert ["debounce", '\'x\' is not a duration; write e.g. "500ms", "5s" or "1m30s"'] in places


def test_settings_of_kinds_know_the_rows_of_the_file() -> None:
    file = {
        "kinds": [ROW],
        "sources": [SOURCE],
        "exclude-kinds": "machine.example.com",
        "exclude-sources": "settings",
    }

    found = resolve({}, {}, file, "c.yaml")

    assert found.exclude_kinds == ("machine.example.com",)
    assert found.exclude_sources == ("Settings.example.com",)


def test_without_rows_the_tables_are_the_ones_that_everybody_has() -> None:
    assert resolve({}, {}, {}, "").tables is resolve({}, {}, {"rate": 3}, "c").tables
    assert resolve({}, {}, {}, "").tables.kinds == KINDS


def test_paths_have_names_and_lists() -> None:
    assert path("spec.a[*].b[].c") == ("spec", "a", "*", "b", "*", "c")


def test_every_ready_row_can_be_used() -> None:
    names = {row.name for row in examples.EXAMPLE_KINDS}

    assert names == examples.SAMPLES.keys()
