"""Two installations with keys of their own that select the same namespace.

They notice each other, lose nothing, roll a change once, and do not rewrite each other's records
over and over.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.scenarios.stage import ENABLED, Controller, Stage, alone, eventually
from tests.support import build
from tests.support.templates import Templates

Start = Callable[..., Controller]
Audit = Callable[[Path], list[dict[str, Any]]]
LATER = 120
"""Seconds: to a clock that is so far ahead, records are old at once."""


@contextmanager
def frozen(one: Controller) -> Iterator[None]:
    """It does nothing for a while, and has to catch up afterwards."""
    assert one.process is not None
    one.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        one.process.send_signal(signal.SIGCONT)


@pytest.fixture
def other(another: Callable[..., Stage], controller: Start) -> Callable[[], Controller]:
    """`other()`: an installation that lives in another namespace."""

    def start() -> Controller:
        flags = ("--leader-election", "false", "--namespace", another().namespace)
        return controller(*flags, wait="watching", skew=LATER)

    return start


def test_two_installations_notice_each_other_and_roll_each_change_once(
    stage: Stage,
    controller: Start,
    other: Callable[[], Controller],
    audit: Audit,
    reroll_kubeconfig: Path,
) -> None:
    web = build.deployment("web", replicas=0, uses=["secret/db", "configmap/app"],
                           annotations=ENABLED)  # fmt: skip
    stage.make(build.secret("db"), build.configmap("app"), web)
    one = alone(controller)
    first = stage.adopted(web)

    with Templates(stage.api, stage.namespace, "Deployment") as templates:
        two = other()
        eventually(lambda: stage.record(web)["k"] != first["k"], "the second rewrites the record")
        eventually(lambda: one.said("OtherInstallation"), "the first tells of the second")
        stage.quiet(web)
        assert stage.record(web)["why"] == "KeyLost"

        changes = [0]
        for turn, asleep in enumerate((one, two, one, two)):
            with frozen(asleep):
                number = stage.record(web)["n"]
                changed = stage.change("Secret", "db", password=f"new {turn}")
                changes.append(int(changed["metadata"]["resourceVersion"]))
                record = stage.rolled(web, since=number)
                assert record["by"] == ["secret/db"]
                awake = two if asleep is one else one
                assert (record["k"] == first["k"]) is (awake is one)
            stage.quiet(web)  # The other one wakes up, and sees that it is done.
        for turn in range(3):
            number = stage.record(web)["n"]
            with frozen(one), frozen(two):  # They hear of both changes at once.
                stage.change("Secret", "db", password=f"newer {turn}")
                stage.change("ConfigMap", "app", key=f"newer {turn}")
            stage.rolled(web, since=number)
            stage.quiet(web)

        assert len(templates.of(web)) == 1 + 4 + 3, "each change is rolled once"
    assert [len(each.said("OtherInstallation")) for each in (one, two)] == [1, 1]
    assert 1 <= len(stage.events(web, "OtherInstallation")) <= 2
    written = [
        call
        for call in audit(reroll_kubeconfig)
        if call["verb"] == "patch"
        and call["objectRef"]["resource"] == "deployments"
        and call["responseStatus"]["code"] == 200
    ]
    assert len(written) <= 1 + 7 + 3, "adopted, rolled, and each had its say"


def test_a_secret_that_changes_while_its_key_is_lost_rolls(
    stage: Stage, controller: Start, another: Callable[..., Stage]
) -> None:
    """The key is gone with its namespace, and so is who could compare."""
    db = build.deployment("db", replicas=0, uses="secret/db", annotations=ENABLED)
    same = build.deployment("same", replicas=0, uses="secret/same", annotations=ENABLED)
    stage.make(build.secret("db"), build.secret("same"), db, same)
    one = alone(controller)
    before = {name: stage.adopted(web)["n"] for name, web in (("db", db), ("same", same))}
    for web in (db, same):
        stage.settled(web)
    one.kill()

    stage.change("Secret", "db", password="while the key was lost")
    two = controller(
        *("--leader-election", "false", "--namespace", another().namespace),
        wait="watching",
        skew=LATER,
    )

    assert stage.rolled(db, since=before["db"])["by"] == ["secret/db"]
    eventually(lambda: stage.record(same)["n"] > before["same"], "it is recorded with the new key")
    assert stage.record(same)["why"] == "KeyLost"
    stage.quiet(same)
    stage.settled(db)
    assert [len(stage.revisions(web)) for web in (db, same)] == [2, 1]
    assert two.said("OtherInstallation") == []
