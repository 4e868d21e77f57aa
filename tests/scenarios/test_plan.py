"""`reroll plan`: what would roll now, and the blast radius of a change before it is made."""

from collections.abc import Callable
from pathlib import Path

import yaml
from tests.scenarios.rolling import Command, a_web
from tests.scenarios.stage import ENABLED, Controller, Stage
from tests.support import build
from tests.support.command import reroll
from tests.support.terminal import in_terminal

from reroll.cli.errors import Exit
from reroll_dev.cluster import DevCluster


def test_what_is_stale_is_told_with_its_reason_and_nothing_is_written(
    stage: Stage, sync: Command, plan: Command
) -> None:
    stage.make(build.configmap(), build.configmap("other"))
    web, held = a_web(replicas=3), a_web("held")
    held["metadata"]["annotations"]["reroll.dev/hold"] = "incident 42"
    other = build.deployment("other", uses=["configmap/other"], annotations=ENABLED)
    silent = build.deployment("silent", uses=["configmap/app"])
    for one in (web, held, other, silent):
        stage.make(one)
    first = plan()
    assert (first.code, first.out.count("Adopted")) == (Exit.OK, 3)
    assert first.out.endswith("nothing would roll\n")
    assert stage.record(web) == {}
    sync()
    assert plan().out == "nothing would roll\n"

    stage.change("ConfigMap", "app", key="new")
    found = plan()

    assert found.code == Exit.WOULD_ROLL
    assert [line.split() for line in found.out.splitlines()] == [
        ["WORKLOAD", "EFFECT", "PODS", "REASON", "BECAUSE"],
        ["deployment/held", "held", "1", "Held", *HELD.split()],
        [*["deployment/web", "rolls", "3", "ConfigChanged", "configmap/app", "changed"]],
        [*["1", "workload", "would", "roll:", "3", "pods,", "in", "1", "namespace"]],
    ]
    everything = plan("--all", "-o", "json").json["workloads"]
    reasons = {one["name"]: one["reason"] for one in everything}
    assert reasons == {
        "web": "ConfigChanged", "held": "Held", "other": "UpToDate", "silent": "NotEnabled",
    }  # fmt: skip
    assert plan("--source", "configmap/other").code == Exit.OK
    assert stage.stamp(web) is None


HELD = "a hold keeps it from rolling; `reroll release` lets it go (incident 42)"


def test_the_blast_radius_of_a_change_is_known_before_it_is_made(
    stage: Stage,
    sync: Command,
    plan: Command,
    controller: Callable[..., Controller],
    tmp_path: Path,
) -> None:
    stage.make(build.configmap(data={"used": "1", "other": "1"}), build.secret())
    web = stage.make(a_web(replicas=2))
    one_key = build.deployment("one", uses=["configmap/app#used"], annotations=ENABLED)
    elsewhere = build.deployment("else", uses=["configmap/app#other"], annotations=ENABLED)
    cron = build.cronjob("cron", uses=["secret/db"], annotations=ENABLED)
    glob = build.deployment("glob", annotations={**ENABLED, "reroll.dev/sources": "configmap/n*"})
    for one in (one_key, elsewhere, cron, glob):
        stage.make(one)
    sync()
    file = tmp_path / "changed.yaml"
    changed = [
        build.configmap(data={"used": "2", "other": "1"}),
        build.secret(data={"password": "correct horse"}),
        build.configmap("new"),
        build.deployment("web"),
    ]
    file.write_text(yaml.safe_dump_all(changed))

    found = plan("--with", file, "-o", "json")

    assert found.code == Exit.WOULD_ROLL, found.err
    effects = {one["name"]: one["effect"] for one in found.json["workloads"]}
    assert effects == {"web": "rolls", "one": "rolls", "glob": "rolls", "cron": "next run"}
    assert found.json["radius"] == {
        "workloads": 3,
        "pods": 4,
        "namespaces": [stage.namespace],
        "keys": {
            f"ConfigMap {stage.namespace}/app": ["used"],
            f"ConfigMap {stage.namespace}/new": [],
        },
    }
    assert "horse" not in found.out + found.err
    assert "`reroll diff` shows" in found.err

    controller()
    numbers = {one: stage.record(which)["n"] for one, which in (("web", web), ("one", one_key))}
    stage.change("ConfigMap", "app", used="2")
    stage.rolled(web, numbers["web"])
    stage.rolled(one_key, numbers["one"])
    assert stage.stamp(elsewhere) is None


def test_a_change_of_nothing_rolls_nothing_and_bad_files_are_told(
    stage: Stage, plan: Command, cluster: DevCluster
) -> None:
    stage.make(build.configmap())
    stage.make(a_web())
    same = yaml.safe_dump(build.configmap())
    where = ("-n", stage.namespace, "--kubeconfig", cluster.kubeconfig("admin"))

    unchanged = reroll("plan", *where, "--with", "-", input=same)
    assert (unchanged.code, unchanged.out) == (Exit.OK, "nothing would roll\n")
    changed = yaml.safe_dump(build.configmap(data={"key": "new"}))
    assert reroll("plan", *where, "--with", "-", input=changed).code == Exit.WOULD_ROLL
    abroad = yaml.safe_dump(build.configmap(namespace="abroad"))
    told = reroll("plan", *where, "--with", "-", input=abroad)
    assert "ConfigMap abroad/app is in another namespace, where nobody looked; use -A" in told.err
    for text in ("kind: [", yaml.safe_dump(build.deployment("web"))):
        bad = reroll("plan", *where, "--with", "-", input=text)
        assert (bad.code, bad.out) == (Exit.USAGE, "")
    assert "no ConfigMap or Secret in -" in bad.err


def test_what_is_stale_already_is_no_part_of_the_blast_radius(
    stage: Stage, sync: Command, plan: Command, tmp_path: Path
) -> None:
    stage.make(build.configmap(), build.configmap("other"))
    both = ["configmap/app", "configmap/other"]
    stage.make(build.deployment("both", uses=both, annotations=ENABLED), a_web())
    sync()
    stage.change("ConfigMap", "app", key="new")
    file = tmp_path / "other.yaml"
    file.write_text(yaml.safe_dump(build.configmap("other", data={"key": "new"})))

    [told] = plan("--with", file, "-o", "json").json["workloads"]

    assert told["message"] == "configmap/other changed (key)"


def test_a_key_that_may_not_be_read_leaves_secrets_unknown_and_says_so(
    stage: Stage, sync: Command, plan: Command, cluster: DevCluster
) -> None:
    stage.make(build.configmap(), build.secret())
    stage.make(a_web())
    stage.make(build.deployment("db", uses=["secret/db"], annotations=ENABLED))
    sync()
    stage.change("ConfigMap", "app", key="new")
    where = ("-n", stage.namespace, "--kubeconfig", cluster.kubeconfig("admin"))

    found = reroll("plan", *where, "--controller-namespace", "default", "-o", "json")

    assert found.code == Exit.FAILED
    told = {one["name"]: one["reason"] for one in found.json["workloads"]}
    assert told == {"web": "ConfigChanged", "db": "Waiting"}
    assert "until then nothing is known of Secrets" in found.err


def test_a_table_fits_the_terminal(stage: Stage, plan: Command, cluster: DevCluster) -> None:
    stage.make(build.configmap())
    stage.make(a_web("a-workload-with-quite-a-long-name"))
    home = ("-n", stage.namespace, "--controller-namespace", stage.namespace)
    where = (*home, "--kubeconfig", cluster.kubeconfig("admin"))

    narrow = in_terminal("plan", *where, columns=60)
    colourless = in_terminal("plan", *where, env={"NO_COLOR": "1"})

    assert narrow.widest <= 60
    assert "Adopted" in narrow.text
    assert colourless.code == Exit.OK
    assert "\x1b[3" not in colourless.raw
