"""`-o`, `--watch`, `--dry-run`, `-l` and `-A`: the same for every command that has them."""

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.scenarios.rolling import Command, a_web
from tests.scenarios.stage import ENABLED, Stage
from tests.support import build
from tests.support.command import Finished, reroll
from tests.support.terminal import in_terminal
from tests.support.tools import kubeconfig_of

from reroll.cli.errors import Exit
from reroll_dev.cluster import DevCluster

SECOND = 1.1
"""Kubernetes tells whole seconds."""
HOLD = "reroll.dev/hold"
LISTS: dict[str, tuple[str, ...]] = {
    "status": (),
    "plan": ("--all",),
    "history": (),
    "audit": (),
    "explain": ("deployment/web", "deployment/other"),
    "sync": ("--dry-run",),
    "restart": ("deployment/web", "--dry-run"),
    "hold": ("deployment/web", "--dry-run"),
    "release": ("deployment/web", "--dry-run"),
    "attach": ("--dry-run",),
    "gc": ("--dry-run",),
}
"""Every command that lists objects, as it writes nothing."""
ENGINELESS = frozenset(("hold", "release", "attach", "gc"))
Run = Callable[..., Finished]


@pytest.fixture
def where(cluster: DevCluster, namespace: str) -> tuple[str | Path, ...]:
    return ("-n", namespace, "--kubeconfig", kubeconfig_of(cluster, "admin"))


@pytest.fixture
def run(where: tuple[str | Path, ...], namespace: str) -> Run:
    def command(name: str, *args: str) -> Finished:
        engine = () if name in ENGINELESS else ("--controller-namespace", namespace)
        return reroll(name, *args, *where, *engine)

    return command


@pytest.fixture
def shop(stage: Stage, sync: Command) -> Stage:
    """`web` and `other` are opted in and recorded; the pods of `web` and of `silent` are stale."""
    stage.make(build.configmap(), build.configmap("other"))
    web = a_web(labels={"tier": "front"})
    other = build.deployment("other", uses=["configmap/other"], annotations=dict(ENABLED))
    silent = build.deployment("silent", uses=["configmap/app"])
    for one in (web, other, silent):
        stage.make(one)
    for one in (web, other, silent):
        stage.settled(one)
    assert sync().code == Exit.OK
    time.sleep(SECOND)
    stage.change("ConfigMap", "app", key="new")
    return stage


def _ageless(document: Any) -> str:
    return re.sub(r"\d+[smhd] ago", "", json.dumps(document, sort_keys=True))


@pytest.mark.slow
def test_every_list_has_every_form(shop: Stage, run: Run) -> None:
    for name, args in LISTS.items():
        table = run(name, *args)
        wide, document = run(name, *args, "-o", "wide"), run(name, *args, "-o", "yaml")
        names = run(name, *args, "-o", "name").out.splitlines()
        assert _ageless(yaml.safe_load(document.out)) == _ageless(
            run(name, *args, "-o", "json").json
        ), name
        assert {table.code, wide.code, document.code} <= {Exit.OK, Exit.WOULD_ROLL}, table.err
        assert all(re.fullmatch(r"[a-z]+/[a-z0-9-]+", one) for one in names), (name, names)
        assert len(set(names)) == len(names)
        if name not in {"attach", "gc"}:
            assert "deployment/web" in names, name
        assert len(wide.out) >= len(table.out), name
    columns = {name: run(name, *args, "-o", "wide").out for name, args in LISTS.items()}
    assert "STRATEGY" in columns["plan"]
    assert "READY" in columns["sync"]
    assert "KNOWN FROM" in columns["history"]
    refused = run("status", "-o", "xml")
    assert (refused.code, refused.out) == (Exit.USAGE, "")


def test_a_dry_run_writes_nothing(shop: Stage, run: Run) -> None:
    web = a_web()
    before = shop.get(web)["metadata"]["annotations"], shop.template(web)

    assert "would restart" in run("restart", "deployment/web", "--dry-run").out
    assert "would roll" in run("sync", "--dry-run").out
    assert "would be held" in run("hold", "deployment/web", "--dry-run").out
    assert (shop.get(web)["metadata"]["annotations"], shop.template(web)) == before

    assert run("hold", "deployment/web", "--reason", "incident 42").code == Exit.OK
    assert "would be released" in run("release", "deployment/web", "--dry-run").out
    assert shop.get(web)["metadata"]["annotations"][HOLD] == "incident 42"


def test_labels_and_all_namespaces_select_for_every_command_that_takes_them(
    shop: Stage, another: Callable[..., Stage], cluster: DevCluster, run: Run
) -> None:
    there = another()
    there.make(build.configmap(), a_web(labels={"tier": "front", "run": shop.namespace}))
    label = {"metadata": {"labels": {"run": shop.namespace}}}
    shop.api.patch(shop.path(a_web()), label)
    mine = ("-A", "-l", f"run={shop.namespace}", "--kubeconfig", kubeconfig_of(cluster, "admin"))
    engine = ("--controller-namespace", shop.namespace)

    for name in ("explain", "status", "plan", "restart", "sync", "hold", "release"):
        dry = ("--dry-run",) if name in LISTS and "--dry-run" in LISTS[name] else ()
        more = ("--all",) if name == "plan" else ()
        done = reroll(name, *mine, *(() if name in ENGINELESS else engine), *dry, *more)
        assert done.code in {Exit.OK, Exit.WOULD_ROLL}, (name, done.err)
        for place in (shop.namespace, there.namespace):
            assert place in done.out, name

    front = run("explain", "-l", "tier=front", "-o", "json").json
    assert [one["workload"]["name"] for one in front["workloads"]] == ["web"]
    run("hold", "deployment/web")
    held = reroll("release", "-A", "--dry-run", "-o", "json", *mine[3:])
    found = {(one["namespace"], one["name"]) for one in held.json["targets"]}
    assert (shop.namespace, "web") in found
    assert (there.namespace, "web") not in found
    for name in ("explain", "restart", "hold", "release"):
        assert run(name).code == Exit.USAGE, name


def test_what_audit_finds_is_restarted_on_request(shop: Stage, run: Run) -> None:
    stale = run("audit", "-o", "name").out.splitlines()
    assert sorted(stale) == ["deployment/silent", "deployment/web"]

    dry = run("restart", "--stale", "--dry-run", "-o", "name").out.splitlines()
    assert sorted(dry) == sorted(stale)
    done = run("restart", "--stale", "--reason", "stale pods", "-o", "json")

    assert done.code == Exit.OK, done.err
    assert {one["name"]: one["result"] for one in done.json["workloads"]} == {
        "web": "rolled", "silent": "rolled",
    }  # fmt: skip
    assert run("audit", "-o", "name").out == ""
    assert run("restart", "--stale").out == "no workloads here\n"
    assert run("sync", "--exit-code").code == Exit.NOTHING


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["status", "history", "audit"])
def test_a_watch_in_a_pipe_says_what_is_new_and_ends_with_ctrl_c(
    shop: Stage, where: tuple[str | Path, ...], run: Run, name: str
) -> None:
    program = (sys.executable, "-m", "reroll", name, "--watch", *map(str, where))
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        first = process.stdout.readline()
        assert "WORKLOAD" in first
        assert any("deployment/web" in line for line in process.stdout)
        run("restart", "deployment/web", "--no-wait")
        news = {"status": "deployment/web", "history": "Restarted", "audit": "1 of "}
        assert any(news[name] in line for line in process.stdout)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == Exit.INTERRUPTED


def test_a_watch_in_a_terminal_is_one_table_that_changes(
    shop: Stage, where: tuple[str | Path, ...]
) -> None:
    home = ("--controller-namespace", shop.namespace)
    seen = in_terminal("status", "--watch", *where, *home, columns=80, until="deployment/web")

    assert seen.code == Exit.INTERRUPTED
    assert seen.widest <= 80
    assert "LAST ROLL" in seen.text
