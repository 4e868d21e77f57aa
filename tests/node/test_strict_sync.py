"""`reroll sync --wait` with processes that end: early, red, and red again until it is mended."""

from collections.abc import Callable

from tests.node.serving import PATIENCE, ServingStage
from tests.node.test_broken_config import EXIT, crashed, web
from tests.scenarios.rolling import Command
from tests.scenarios.stage import Controller, eventually
from tests.support import build
from tests.support.settled import is_settled

from reroll.cli.errors import Exit
from reroll_dev.api import path_to

__all__ = ["web"]
LONG = ("--wait", "--timeout", "10m")
"""Longer than a test may take: what ends was not waited for until its time was up."""


def test_a_crash_loop_is_red_until_the_source_is_mended_whichever_process_rolled(
    stage: ServingStage,
    controller: Callable[..., Controller],
    sync: Command,
    web: build.Object,
) -> None:
    controller()
    first = stage.adopted(web)
    before, old = stage.template(web), stage.uids(web)
    stage.change("ConfigMap", "app", mode="bad")
    stage.rolled(web, since=first["n"])

    done = sync(*LONG, "--rollback-on-failure", "-o", "json")

    assert done.code == Exit.ROLLED_BACK, done.out + done.err
    [told] = done.json["workloads"]
    assert (told["reason"], told["failedAs"]) == ("ConfigChanged", "failed")
    assert f"{EXIT}, restarted 3 times" in told["detail"]
    assert "configmap/app#mode still holds what failed" in done.err
    assert stage.template(web) == before
    assert is_settled(stage.get(web))
    assert stage.uids(web) == old

    again = sync(*LONG, "-o", "json")
    assert (again.code, again.json["result"]) == (Exit.FAILED, "declined")

    # What the command said: pods that start from now on read it.
    for pod in stage.pods(web):
        stage.api.delete(path_to("Pod", pod["metadata"]["name"], stage.namespace))
    eventually(lambda: set(crashed(stage, web)) == {3}, "its pods crash", PATIENCE)
    worse = sync(*LONG, "-o", "json")
    assert (worse.code, worse.json["result"]) == (Exit.FAILED, "failed")
    assert EXIT in worse.json["workloads"][0]["detail"]

    stage.change("ConfigMap", "app", mode="good again")
    mended = sync(*LONG)
    assert mended.code == Exit.OK, mended.out + mended.err
    stage.variable_is(web, "MODE", "good again")
    assert sync(*LONG, "--exit-code").code == Exit.NOTHING
