"""Windows, and holds of sources and of everything: a roll is delayed, never lost."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.scenarios import custom
from tests.scenarios.propagating import begun, change, healthy_pods, judged, told, web
from tests.scenarios.rolling import Command, a_web, that_fails
from tests.scenarios.stage import ENABLED, Controller, Stage, again, alone, eventually
from tests.support import build
from tests.support.command import reroll
from tests.support.tools import kubeconfig_of

from reroll.cli.errors import Exit
from reroll.pki import Span, new_authority
from reroll_dev.api import path_to
from reroll_dev.cluster import DevCluster

Start = Callable[..., Controller]
NEVER = "2090-01-01"
"""A window that opens long after us."""


def certificate(days: int) -> build.Object:
    """A Secret with one that holds for so many days."""
    now = datetime.now(UTC)
    pair = new_authority("shop.example", Span(now, now + timedelta(days=days)))
    data = {"tls.crt": pair.certificate.decode(), "tls.key": pair.key.decode()}
    return {**build.secret("tls", data), "type": "kubernetes.io/tls"}


def rolled_at(stage: Stage, one: build.Object) -> datetime:
    return datetime.fromisoformat(stage.record(one)["rolled"])


def test_a_change_in_a_closed_window_rolls_once_when_it_opens(
    stage: Stage, controller: Start, status: Command, sync: Command
) -> None:
    """By a clock that stands shortly before a full minute, so that nobody waits for long."""
    stage.make(build.configmap())
    one = stage.make(a_web())
    stage.annotate(one, window=NEVER)
    now = datetime.now(UTC)
    skew = timedelta(seconds=45 - now.second, hours=5)
    controller(skew=int(skew.total_seconds()))
    number = stage.adopted(one)["n"]
    stage.settled(one)

    change(stage, "first")
    change(stage, "second")
    assert "next opening 2090-01-01 00:00 UTC" in told(stage, one, "WindowClosed")
    row = status("-o", "json").json["workloads"][0]
    assert row["reason"] == "WindowClosed"
    assert "next opening 2090-01-01 00:00 UTC" in row["message"]
    assert sync().code == Exit.OK
    assert stage.stamp(one) is None

    soon = datetime.now(UTC) + skew + timedelta(seconds=5)
    opens = soon.replace(second=0, microsecond=0) + timedelta(minutes=1)
    stage.annotate(one, window=f"daily {opens:%H:%M}+1h UTC")
    # That may be a whole minute, where all this took long.
    eventually(lambda: stage.stamp(one), "it rolls when the window opens", timeout=90)
    stage.rolled(one, number)
    assert rolled_at(stage, one) >= opens
    stage.settled(one)
    assert len(stage.revisions(one)) == 2


def test_a_window_that_closes_ends_nothing_that_is_under_way(
    stage: Stage, controller: Start, cluster: DevCluster, tmp_path: Path
) -> None:
    stage.make(build.configmap())
    first, second = web(0, wave="0"), web(1, wave="1")
    that_fails(stage, first)
    stage.make(second)
    config = str(custom.config(tmp_path, {"windows": [{"name": "nights", "allow": NEVER}]}))
    begun(stage, controller, (first, second), "--config", config)

    change(stage, "new")
    eventually(lambda: stage.record(first).get("rolled"), "the first wave is under way")
    namespace = path_to("Namespace", stage.namespace)
    stage.api.patch(namespace, {"metadata": {"annotations": {"reroll.dev/window": "nights"}}})
    healthy_pods(stage, first)
    judged(stage, first, "healthy")

    message = told(stage, second, "WindowClosed")
    assert "next opening 2090-01-01 00:00 UTC" in message
    assert stage.stamp(second) is None
    where = ("-n", stage.namespace, "--kubeconfig", kubeconfig_of(cluster, "admin"))
    shown = reroll("windows", *where, "--config", config, "-o", "json").json
    assert [(one["name"], one["active"], one["next"]) for one in shown["windows"]] == [
        ("nights", False, "2090-01-01T00:00:00Z"),
    ]  # fmt: skip
    assert [(one["name"], one["open"], one["windows"]) for one in shown["places"]] == [
        ("web-0", False, ["nights"]), ("web-1", False, ["nights"]),
    ]  # fmt: skip
    asked = ("--config", config, "--calendar", "2090-01", "deployment/web-1")
    month = reroll("windows", *where, *asked)
    assert month.out.splitlines()[2:4] == [
        "Sun 2090-01-01  all day open", "Mon 2090-01-02  closed",
    ]  # fmt: skip
    stage.api.patch(namespace, {"metadata": {"annotations": {"reroll.dev/window": None}}})
    judged(stage, second, "healthy")


def test_everything_is_held_over_a_restart_until_it_is_released(
    stage: Stage, controller: Start, hold: Command, release: Command, explain: Command
) -> None:
    stage.make(build.configmap())
    one, other = stage.make(a_web()), stage.make(a_web("other"))
    here = ("--all", "--controller-namespace", stage.namespace)
    began = alone(controller)
    numbers = [stage.adopted(each)["n"] for each in (one, other)]

    done = hold(*here, "--reason", "incident 42")
    assert (done.code, done.err) == (Exit.OK, "")
    assert done.out.splitlines()[1].split()[-3:] == ["held", "incident", "42"]
    began.wait_for(lambda line: line["msg"] == "everything is held")
    change(stage, "new")
    assert "incident 42" in told(stage, one, "Held", "the whole cluster")
    seen = len(began.lines())
    again(began)
    change(stage, "newer")
    assert "incident 42" in explain("deployment/other").out
    began.wait_for(
        lambda line: line.get("reason") == "Held" and line["workload"].endswith("/other"), seen
    )
    assert [stage.stamp(each) for each in (one, other)] == [None, None]

    assert release(*here).out.splitlines()[1].split()[-1] == "released"
    for each, number in zip((one, other), numbers, strict=True):
        stage.rolled(each, number)
    assert release(*here).out.splitlines()[1].endswith("was not held")


def test_a_hold_on_a_source_holds_all_that_use_it_and_urgent_passes_windows_only(
    stage: Stage, controller: Start, hold: Command, release: Command, sync: Command
) -> None:
    stage.make(build.configmap(), build.configmap("mine"))
    one = stage.make(a_web())
    other = stage.make(build.deployment("other", uses=["configmap/mine"], annotations=ENABLED))
    stage.annotate(one, window=NEVER)
    alone(controller)
    number, others = stage.adopted(one)["n"], stage.adopted(other)["n"]
    stage.annotate(build.configmap(), urgent="true")

    assert hold("configmap/app", "--reason", "being edited").code == Exit.OK
    change(stage, "new")
    change(stage, "new", "mine")
    stage.rolled(other, others)
    assert "being edited" in told(stage, one, "Held", "on ConfigMap")
    assert "being edited" in sync().out
    assert stage.stamp(one) is None

    assert release("cm/app").code == Exit.OK
    stage.rolled(one, number)


def test_the_certificate_in_use_is_remembered_and_passes_a_closed_window(
    stage: Stage, controller: Start
) -> None:
    """Its end is in the record, because the Secret holds the next one by then."""
    stage.make(certificate(days=30))
    one = build.deployment("web", uses=["secret/tls"], annotations=ENABLED)
    stage.make(one)
    stage.annotate(one, window=NEVER)
    alone(controller)
    number = stage.adopted(one)["n"]
    assert stage.record(one)["expires"]

    renewed = {"data": certificate(days=90)["data"]}
    stage.api.patch(path_to("Secret", "tls", stage.namespace), renewed)
    assert "a certificate that it uses runs out before that" in told(stage, one, "WindowClosed")
    stage.annotate(one, urgent_before_expiry="true")
    stage.rolled(one, number)
