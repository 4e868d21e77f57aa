"""`kubectl rollout undo` is a decision, not drift: only a further change rolls forward."""

import json
from collections.abc import Callable

import pytest
from tests.scenarios.stage import ENABLED, Controller, Stage, a, eventually
from tests.support import build
from tests.support.tools import Tool

from reroll.core.tables.kinds import KINDS, Kind

Start = Callable[..., Controller]
Object = build.Object
UNDOABLE = [kind for kind in KINDS if kind.group == "apps"]
"""Those that kubectl can undo."""

for_undoable_kinds = pytest.mark.parametrize(
    "kind", UNDOABLE, ids=[kind.name for kind in UNDOABLE], indirect=True
)
while_it = pytest.mark.parametrize("down", [False, True], ids=["runs", "is down"])


@pytest.fixture
def undo(stage: Stage, kubectl: Tool) -> Callable[..., None]:
    def run(workload: Object, *flags: str) -> None:
        name = f"{workload['kind'].lower()}/{workload['metadata']['name']}"
        kubectl("rollout", "undo", name, "--namespace", stage.namespace, *flags)

    return run


class Played:
    """A workload whose ConfigMap has been changed from `first` to `second`, and rolled."""

    def __init__(self, stage: Stage, controller: Start, kind: Kind) -> None:
        self.stage = stage
        self.web = a(kind, uses="configmap/app", annotations=ENABLED)
        stage.make(build.configmap("app", {"key": "first"}), self.web)
        self.one = controller("--leader-election", "false", wait="watching")
        self.first = stage.adopted(self.web)
        stage.settled(self.web)  # There is a revision to go back to.
        self.change("second")
        stage.settled(self.web)

    def change(self, value: str) -> None:
        number = self.stage.record(self.web)["n"]
        self.stage.change("ConfigMap", "app", key=value)
        self.stage.rolled(self.web, since=number)

    def restart(self) -> None:
        self.one.kill()
        self.one.start(wait="watching")

    def is_undone(self, *, copies_record: bool) -> None:
        """It went back, that is on record, and it stays so through a restart."""
        if copies_record:
            eventually(lambda: self.stage.record(self.web)["why"] == "Undone", "it is declined")
        self.stage.settled(self.web)
        self.stage.quiet(self.web)
        self.restart()
        self.stage.quiet(self.web)
        assert self.stage.record(self.web)["s"] != self.first["s"]


@pytest.mark.thorough
@while_it
@for_undoable_kinds
def test_an_undo_stays_until_the_source_changes_again(
    stage: Stage, controller: Start, undo: Callable[..., None], kind: Kind, down: bool
) -> None:
    played = Played(stage, controller, kind)
    if down:
        played.one.kill()

    undo(played.web)
    if down:
        played.one.start(wait="watching")

    played.is_undone(copies_record=kind.copies_record)
    assert stage.stamp(played.web) is None
    assert len(stage.revisions(played.web)) == 2

    played.change("third")
    assert stage.stamp(played.web) is not None
    stage.settled(played.web)
    assert len(stage.revisions(played.web)) == 3


@while_it
def test_an_undo_of_an_undo_and_one_to_an_old_revision_are_decisions_too(
    stage: Stage, controller: Start, undo: Callable[..., None], down: bool
) -> None:
    kind = KINDS[0]
    played = Played(stage, controller, kind)
    second = stage.stamp(played.web)
    played.change("third")
    stage.settled(played.web)

    for flags, stamp in (
        (("--to-revision", "1"), None),
        (("--to-revision", "2"), second),
        ((), None),
    ):
        if down:
            played.one.kill()
        undo(played.web, *flags)
        if down:
            played.one.start(wait="watching")
        stage.settled(played.web)
        stage.quiet(played.web)
        assert stage.stamp(played.web) == stamp

    assert stage.events(played.web, "Undone")
    if down:
        played.one.kill()
    number = stage.record(played.web)["n"]
    stage.change("ConfigMap", "app", key="fourth")
    if down:
        played.one.start(wait="watching")
    stage.rolled(played.web, since=number)


def test_a_source_that_changed_after_the_undo_rolls_though_nobody_watched_either(
    stage: Stage, controller: Start, undo: Callable[..., None]
) -> None:
    played = Played(stage, controller, KINDS[0])
    played.one.kill()

    undo(played.web)
    stage.settled(played.web)
    stage.change("ConfigMap", "app", key="third")
    number = stage.record(played.web)["n"]
    played.one.start(wait="watching")

    assert stage.rolled(played.web, since=number)["why"] == "ConfigChanged"
    stage.quiet(played.web)


def test_content_that_comes_back_to_what_was_undone_rolls_again(
    stage: Stage, controller: Start, undo: Callable[..., None]
) -> None:
    played = Played(stage, controller, KINDS[0])
    second = stage.stamp(played.web)
    undo(played.web)
    eventually(lambda: stage.record(played.web)["why"] == "Undone")

    played.change("third")
    played.change("second")

    assert stage.stamp(played.web) == second


def test_an_undo_to_before_it_was_adopted_rolls_nothing_and_the_record_comes_back(
    stage: Stage, controller: Start, undo: Callable[..., None]
) -> None:
    """The old ReplicaSet has no record; and the annotation that opted in is gone as well."""
    web = build.deployment("web", uses="configmap/app")
    stage.make(build.configmap("app"), web)
    stage.settled(web)
    label = {"metadata": {"labels": {"edition": "new"}}}
    stage.api.patch(
        stage.path(web), {"metadata": {"annotations": ENABLED}, "spec": {"template": label}}
    )
    stage.settled(web)
    one = controller("--leader-election", "false", "--auto-all", wait="watching")
    first = stage.adopted(web)
    stage.change("ConfigMap", "app", key="new")
    record = stage.rolled(web, since=first["n"])
    stage.settled(web)

    undo(web, "--to-revision", "1")

    eventually(lambda: one.said("RecordRestored"), "its record is restored")
    assert stage.record(web) == record
    stage.settled(web)
    stage.quiet(web)
    assert "edition" not in stage.template(web)["metadata"]["labels"]
    number = stage.record(web)["n"]
    stage.change("ConfigMap", "app", key="newer")
    stage.rolled(web, since=number)


def test_a_record_put_back_without_its_template_is_no_undo(stage: Stage, controller: Start) -> None:
    """As a backup does that restores the annotations of last week, without the template."""
    played = Played(stage, controller, KINDS[0])
    stamp, record = stage.stamp(played.web), stage.record(played.web)

    stage.annotate(played.web, state=json.dumps(played.first))

    eventually(lambda: stage.record(played.web) == record, "its record is restored")
    stage.quiet(played.web)
    assert stage.stamp(played.web) == stamp
    assert played.one.said("Undone") == []
