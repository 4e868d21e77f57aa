"""One run of a command: settings and selected workloads come from its arguments, once."""

import argparse

import pytest

from reroll.cli.command import Context, Selection
from reroll.cli.errors import CommandError, Exit
from reroll.core.model.key import Key
from reroll.core.model.metadata import Manifest, Metadata
from reroll.core.tables.kinds import KINDS

DEPLOYMENT = next(kind for kind in KINDS if kind.name == "Deployment")
WEB, SHOP = Key("Deployment", "shop", "web"), Key("Rollout", "shop", "web")


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch):
    monkeypatch.delenv("REROLL_CONFIG", raising=False)


def context(**arguments):
    return Context(argparse.Namespace(**{"config": None, **arguments}))


def manifest(name, **labels):
    return Manifest(Metadata(name=name, namespace="shop", labels=labels))


def test_settings_come_from_the_flags_the_file_and_the_environment(tmp_path, monkeypatch):
    path = tmp_path / "reroll.yaml"
    path.write_text("debounce: 7s\n")
    monkeypatch.setenv("REROLL_RATE", "3")
    settings = context(config=str(path), controller_namespace="tools").settings
    assert (settings.debounce.total_seconds(), settings.rate) == (7, 3)
    assert settings.namespace == "tools"


def test_settings_that_cannot_be_used_are_a_usage_error_with_each_problem(tmp_path):
    path = tmp_path / "reroll.yaml"
    path.write_text("debounce: soon\nrate: fast\n")
    with pytest.raises(CommandError) as error:
        _ = context(config=str(path)).settings
    assert error.value.code is Exit.USAGE
    assert "debounce" in str(error.value)
    assert "rate" in str(error.value)


def test_workloads_are_named_or_selected_but_not_both():
    both = context(workloads=["deploy/web"], selector="team=shop")
    with pytest.raises(CommandError, match="not both"):
        _ = both.selection
    with pytest.raises(CommandError, match="not both"):
        _ = context(workloads=["deploy/web"], all_namespaces=True).selection


def test_a_selector_that_is_none_is_a_usage_error():
    with pytest.raises(CommandError, match="is not a label selector") as error:
        _ = context(selector="=,=").selection
    assert error.value.code is Exit.USAGE


def test_a_selection_holds_what_is_named_and_nothing_else():
    named = context(workloads=["deploy/web"]).selection
    assert named.kinds == {"Deployment"}
    assert named.holds(DEPLOYMENT, manifest("web"))
    assert not named.holds(DEPLOYMENT, manifest("api"))


def test_a_selection_holds_what_has_the_labels():
    selected = context(selector="team=shop").selection
    assert selected.holds(DEPLOYMENT, manifest("web", team="shop"))
    assert not selected.holds(DEPLOYMENT, manifest("web", team="ops"))


def test_a_command_may_have_other_names_for_its_arguments():
    args = argparse.Namespace(config=None, workloads=["deploy/other"])
    assert Context(args, workloads=["deploy/web"]).selection.named == ((DEPLOYMENT, "web"),)


def test_a_name_that_is_not_there_is_refused_with_what_may_be_meant():
    selection = Selection(((DEPLOYMENT, "wep"),))
    with pytest.raises(CommandError, match="did you mean deployment/web"):
        selection.check([WEB], ())
    Selection(((DEPLOYMENT, "web"),)).check([WEB], ())


def test_a_name_that_may_exist_where_nothing_may_be_listed_says_so():
    with pytest.raises(CommandError, match="may not list deployments"):
        Selection(((DEPLOYMENT, "web"),)).check([], ["you may not list deployments"])


@pytest.mark.parametrize("relation", ["lenders", "owned"])
def test_a_name_of_another_workloads_part_is_refused_with_that_workload(relation):
    with pytest.raises(CommandError, match="write rollout/web"):
        Selection(((DEPLOYMENT, "web"),)).check([SHOP], (), **{relation: {WEB: SHOP}})
