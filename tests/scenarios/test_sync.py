"""`reroll sync`: the roll inside a deployment, with its result in the exit code."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from tests.scenarios.rolling import Command, a_web
from tests.scenarios.stage import ENABLED, Controller, Stage, a
from tests.support import build
from tests.support.command import reroll
from tests.support.settled import is_settled
from tests.support.terminal import in_terminal

from reroll.cli.errors import Exit
from reroll.core.tables.kinds import KINDS
from reroll_dev.api import path_to
from reroll_dev.cluster import DevCluster

ROLLING = [kind for kind in KINDS if kind.counts]


def test_every_kind_is_adopted_then_rolled_and_waited_for_and_then_there_is_nothing_to_do(
    stage: Stage, rollouts: DevCluster, sync: Command
) -> None:
    stage.make(build.configmap(), build.secret())
    workloads = [
        a(kind, kind.name.lower(), uses=["configmap/app", "secret/db"], annotations=ENABLED)
        for kind in ROLLING
    ]
    for one in workloads:
        stage.make(one)
    for one in workloads:
        stage.settled(one)

    adopted = sync("-o", "json")
    assert (adopted.code, adopted.json["problems"]) == (Exit.OK, [])
    assert {one["reason"] for one in adopted.json["workloads"]} == {"Adopted"}
    assert all(stage.stamp(one) is None for one in workloads)

    stage.change("Secret", "db", password="correct horse")
    rolled = sync("--wait", "-o", "json")
    assert rolled.code == Exit.OK, rolled.err
    assert rolled.json["result"] == "rolled"
    assert {one["result"] for one in rolled.json["workloads"]} == {"rolled"}
    for one, told in zip(workloads, sorted(rolled.json["workloads"], key=_order), strict=True):
        assert stage.stamp(one)
        assert told["pods"]["ready"] == told["pods"]["total"] > 0
        assert stage.events(one, "ConfigChanged")
    assert "horse" not in rolled.out + rolled.err

    again = sync("--wait", "--exit-code")
    assert (again.code, again.out) == (Exit.NOTHING, f"{len(workloads)} workloads unchanged\n")
    assert sync().code == Exit.OK


def _order(told: dict[str, Any]) -> int:
    return [kind.name for kind in ROLLING].index(told["kind"])


def test_only_what_was_asked_for_is_rolled(stage: Stage, sync: Command) -> None:
    stage.make(build.configmap(), build.configmap("other"))
    web, api = a_web(), a_web("api", labels={"tier": "front"})
    other = build.deployment("other", uses=["configmap/other"], annotations=ENABLED)
    out = build.deployment(
        "out", uses=["configmap/app"], annotations={"reroll.dev/enabled": "false"}
    )
    silent = build.deployment("silent", uses=["configmap/app"])
    for one in (web, api, other, out, silent):
        stage.make(one)
    assert sync().code == Exit.OK
    stage.change("ConfigMap", "app", key="new")
    stage.change("ConfigMap", "other", key="new")

    dry = sync("--dry-run")
    assert (dry.code, dry.out.count("would roll")) == (Exit.OK, 3)
    assert stage.stamp(web) is None

    assert [sync("deployment/web").code, bool(stage.stamp(web))] == [Exit.OK, True]
    assert (stage.stamp(api), stage.stamp(other)) == (None, None)
    assert [sync("-l", "tier=front").code, bool(stage.stamp(api))] == [Exit.OK, True]
    assert stage.stamp(other) is None
    by_source = sync("--source", "cm/other", "-o", "json")
    assert [one["name"] for one in by_source.json["workloads"]] == ["other"]
    assert stage.stamp(other)

    named = sync("deployment/silent", "deploy/out")
    assert named.code == Exit.FAILED
    for name in ("silent", "out"):
        assert (
            f"Deployment {stage.namespace}/{name} is not rolled, because it did not opt in; "
            'annotate it with reroll.dev/enabled: "true"' in named.err
        )
    assert (stage.stamp(out), stage.stamp(silent)) == (None, None)


def test_pods_are_evicted_without_a_controller(stage: Stage, sync: Command) -> None:
    stage.make(build.configmap())
    web = a_web(replicas=2)
    web["metadata"]["annotations"]["reroll.dev/strategy"] = "evict"
    stage.make(web)
    stage.settled(web)
    sync()
    before = {pod["metadata"]["uid"] for pod in stage.pods(web)}
    stage.change("ConfigMap", "app", key="new")

    done = sync("-o", "json")

    assert done.code == Exit.OK, done.err
    assert before.isdisjoint(pod["metadata"]["uid"] for pod in stage.pods(web))
    assert "todo" not in stage.record(web)


def test_jobs_are_started_and_made_anew_without_a_controller(stage: Stage, sync: Command) -> None:
    stage.make(build.configmap())
    lasting = {"dev.reroll.dev/complete-after": "1h"}
    cron, job = (
        make(name, uses=["configmap/app"], template_annotations=lasting, annotations=dict(ENABLED))
        for make, name in ((build.cronjob, "cron"), (build.job, "job"))
    )
    cron["metadata"]["annotations"]["reroll.dev/strategy"] = "trigger"
    job["metadata"]["annotations"]["reroll.dev/strategy"] = "recreate"
    nightly = build.cronjob("nightly", uses=["configmap/app"], annotations=ENABLED)
    stage.make(cron, nightly)
    before = stage.make(job)["metadata"]["uid"]
    sync()
    stage.change("ConfigMap", "app", key="new")

    done = sync("-o", "json")

    assert done.code == Exit.OK, done.err
    told = {one["name"]: (one["result"], one["detail"]) for one in done.json["workloads"]}
    assert told == {
        "cron": ("rolled", "a Job was started"),
        "job": ("rolled", ""),
        "nightly": ("recorded", "its next run has the new configuration"),
    }
    assert stage.get(job)["metadata"]["uid"] != before
    jobs = stage.api.list(path_to("Job", "", stage.namespace))
    assert len(jobs) == 2


def test_a_source_that_is_missing_holds_the_roll_and_is_a_failure(
    stage: Stage, sync: Command
) -> None:
    stage.make(build.configmap(), build.secret())
    uses = ["configmap/app", "secret/db"]
    web = stage.make(build.deployment("web", uses=uses, annotations=ENABLED))
    sync()
    stage.change("ConfigMap", "app", key="new")
    stage.api.delete(path_to("Secret", "db", stage.namespace))

    done = sync()

    assert done.code == Exit.FAILED
    assert f"Secret {stage.namespace}/db; create it" in done.out
    assert stage.stamp(web) is None


def test_all_namespaces_are_looked_at_when_asked(
    stage: Stage, another: Callable[..., Stage], cluster: DevCluster
) -> None:
    mine = {"run": stage.namespace}
    places = (stage, another(annotations={"reroll.dev/enabled": "true"}))
    workloads = [build.deployment("web", uses=["configmap/app"], labels=mine) for _ in places]
    workloads[0]["metadata"]["annotations"] = dict(ENABLED)
    for place, web in zip(places, workloads, strict=True):
        place.make(build.configmap(), web)
    everywhere = ("-A", "-l", f"run={stage.namespace}", "--kubeconfig", cluster.kubeconfig("admin"))
    home = ("--controller-namespace", stage.namespace)

    done = reroll("sync", *everywhere, *home, "-o", "json")

    assert done.code == Exit.OK, done.err
    assert {one["namespace"] for one in done.json["workloads"]} == {p.namespace for p in places}
    assert all(p.record(web) for p, web in zip(places, workloads, strict=True))


def test_a_roll_of_sync_is_none_for_the_controller_and_the_other_way_round(
    stage: Stage, sync: Command, controller: Callable[..., Controller]
) -> None:
    stage.make(build.configmap(), build.secret())
    web = build.deployment("web", uses=["configmap/app", "secret/db"], annotations=ENABLED)
    stage.make(web)
    sync()
    stage.change("Secret", "db", password="new")
    assert sync("--wait").code == Exit.OK
    controller()
    stage.quiet(web)
    number = stage.record(web)["n"]

    stage.change("Secret", "db", password="newer")
    stage.rolled(web, number)
    stage.settled(web)  # else its ReplicaSet may never be made

    assert sync("--exit-code").code == Exit.NOTHING

    for number in range(3):
        stage.change("Secret", "db", password=f"race {number}")
        assert sync("--wait").code == Exit.OK
    stage.quiet(web)
    assert len(stage.revisions(web)) == 6, "each change is one roll, whoever made it"


def test_a_rollout_that_somebody_else_began_is_waited_for(stage: Stage, sync: Command) -> None:
    stage.make(build.configmap())
    web = stage.make(a_web())
    stage.settled(web)
    sync()
    slow = {"metadata": {"annotations": {"dev.reroll.dev/ready-after": "2s"}}}
    stage.api.patch(stage.path(web), {"spec": {"template": slow}})

    done = sync("--wait", "-o", "json")

    assert done.code == Exit.OK
    assert [one["result"] for one in done.json["workloads"]] == ["rolled"]
    assert is_settled(stage.get(web))


def test_a_result_for_ci_systems(stage: Stage, sync: Command, tmp_path: Path) -> None:
    stage.make(build.configmap())
    stage.make(a_web())
    held = a_web("held")
    held["metadata"]["annotations"]["reroll.dev/hold"] = "incident 42"
    stage.make(held)
    sync()
    stage.change("ConfigMap", "app", key="new")
    file = tmp_path / "reroll.xml"

    assert sync("--junit", str(file)).code == Exit.OK

    suite = ET.parse(file).getroot()[0]
    assert (suite.get("name"), suite.get("tests"), suite.get("failures")) == (
        "reroll sync",
        "2",
        "0",
    )
    cases = {case.get("name"): case for case in suite}
    assert cases["Deployment/web"].find("system-out") is not None
    skipped = cases["Deployment/held"].find("skipped")
    assert skipped is not None
    assert "incident 42" in (skipped.get("message") or "")


def test_progress_is_lines_in_a_pipe_and_bars_in_a_terminal(
    stage: Stage, sync: Command, cluster: DevCluster
) -> None:
    stage.make(build.configmap())
    web = a_web(replicas=2)
    web["spec"]["template"]["metadata"]["annotations"] = {"dev.reroll.dev/ready-after": "1s"}
    stage.make(web)
    stage.settled(web)
    sync()
    stage.change("ConfigMap", "app", key="new")

    piped = sync("--wait")
    lines = piped.err.splitlines()
    name = f"Deployment {stage.namespace}/web"
    assert lines[0].startswith(f"{name}: rolling")
    assert re.search(r"\d updated, \d ready, 2 in all, \d+s$", piped.err, re.MULTILINE)
    assert re.fullmatch(rf"{name}: rolled, \d+s", lines[-1])
    assert "\x1b" not in piped.err + piped.out
    assert piped.out == (
        "WORKLOAD        RESULT  REASON         DETAIL\n"
        "deployment/web  rolled  ConfigChanged  configmap/app changed\n1 workload rolled\n"
    )

    stage.change("ConfigMap", "app", key="newer")
    where = ("-n", stage.namespace, "--kubeconfig", cluster.kubeconfig("admin"))
    seen = in_terminal("sync", *where, "--controller-namespace", stage.namespace, "--wait")
    assert seen.code == Exit.OK
    assert "UPDATED" in seen.text
    assert "━" in seen.text
    assert "1 workload rolled" in seen.text
    assert seen.widest <= 100
    stage.change("ConfigMap", "app", key="newest")
    plain = in_terminal("sync", *where, "--wait", env={"NO_COLOR": "1"})
    assert "\x1b[32m" not in plain.raw
