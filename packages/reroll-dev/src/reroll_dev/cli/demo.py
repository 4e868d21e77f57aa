"""`reroll demo`: the main job, live, on a control plane of its own."""

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from reroll.cli.errors import CommandError
from reroll_dev import binaries
from reroll_dev.api import Api
from reroll_dev.cli import shop, shop_play
from reroll_dev.cli.demo_dashboard import dashboard
from reroll_dev.cli.example import (
    CONFIG,
    DEPLOYMENT,
    NAMESPACE,
    SECRET,
    WEB,
    encoded,
    manifests,
    prepare,
)
from reroll_dev.cli.printing import bar, command, say, title
from reroll_dev.cli.stage import Stage
from reroll_dev.cluster import DevCluster
from reroll_dev.errors import DevClusterError
from reroll_dev.images.made import made
from reroll_dev.layout import default_folder
from reroll_dev.node import nft, requirements
from reroll_dev.progress import Progress, progress_on
from reroll_dev.start import Options

NAME = "demo"
QUIET = 3.0
"""Seconds in which nothing must happen, before we say that nothing happens."""

DESCRIPTION = (
    "Show the main job on a real control plane: an nginx whose page comes from a ConfigMap.\n"
    "The first run builds the control plane, which takes minutes. With --node the pods really\n"
    "run, with a small web server instead of nginx, and you see the page. --propagation shows\n"
    "how a bad value is stopped: eight workloads, one ConfigMap, a few at a time. --dashboard\n"
    "shows the same in a browser."
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--keep", action="store_true", help="leave the cluster and the controller running"
    )
    variant = parser.add_mutually_exclusive_group()
    variant.add_argument(
        "--node", action="store_true", help="with a real node; needs Linux and root"
    )
    variant.add_argument(
        "--propagation",
        action="store_true",
        help="a change that goes to a few first, stops when one fails, and rolls back",
    )
    variant.add_argument(
        "--dashboard", action="store_true", help="the same, with `reroll dashboard` open beside it"
    )


def run(args: argparse.Namespace) -> int:
    progress = progress_on(sys.stderr, env=os.environ)
    cluster = DevCluster(default_folder(NAME, os.environ), progress=progress)
    try:
        start(cluster, progress, node=args.node)
        with Stage(cluster, real=args.node) as stage:
            args.propagation |= args.dashboard
            with dashboard(stage) if args.dashboard else nullcontext():
                (shop_play.play if args.propagation else play)(stage)
            finale(stage, args)
    except DevClusterError as error:
        raise CommandError(str(error)) from None
    except BaseException:
        cluster.down()
        raise
    if not args.keep:
        cluster.down()
    return 0


def start(cluster: DevCluster, progress: Progress, *, node: bool) -> None:
    """A new cluster; with a node, one that has the image of the web server."""
    if node:
        requirements.require(os.environ)
    names = (*binaries.CORE, *(binaries.NODE if node else ()))
    programs = binaries.ensure(names, env=os.environ, progress=progress)
    if node:
        programs |= nft.ensure(env=os.environ, progress=progress)
    cluster.down()
    with progress.step("starting the control plane"):
        cluster.up(programs, Options(nodes=0, node=True) if node else None)
    if node:
        cluster.node.load_image(made(WEB, env=os.environ, progress=progress))


def play(stage: Stage) -> None:
    title("An nginx serves a page from a ConfigMap, and has opted in to Reroll")
    prepare(stage.api, real=stage.visitor is not None)
    show(manifests())
    stage.start_controller()
    record = ("metadata", "annotations", "reroll.dev/state")
    stage.wait("the Deployment is adopted", lambda: dig(stage.api.get(DEPLOYMENT), *record))
    stage.wait("its pods are ready", lambda: rollout(stage.api).done)
    say("The controller is up. It recorded what the pods run with, and rolled nothing:")
    pods(stage.api)
    curl(stage)

    title("1. The page changes: the pods roll once, and an Event says why")
    command("kubectl patch cm application-config", """-p '{"data":{"index.html":"updated"}}'""")
    with rolling(stage):
        stage.api.patch(CONFIG, {"data": {"index.html": "updated"}})
    reason(stage.api)
    pods(stage.api)
    curl(stage)

    title("2. A label changes: nothing rolls")
    command("kubectl label cm application-config", "team=web")
    with still(stage):
        stage.api.patch(CONFIG, {"metadata": {"labels": {"team": "web"}}})

    title("3. A key changes that no pod uses: nothing rolls")
    command("kubectl patch cm application-config", """-p '{"data":{"notes.txt":"new"}}'""")
    with still(stage):
        stage.api.patch(CONFIG, {"data": {"notes.txt": "new"}})

    title("4. A Secret changes while the controller is down: the roll waits for it")
    stage.stop_controller()
    say("The controller is stopped.")
    command("kubectl patch secret tls-password", """-p '{"stringData":{"password":"…"}}'""")
    stage.api.patch(SECRET, {"data": {"password": encoded("correct horse")}})
    say("The Secret has changed, and nothing was watching. The controller starts:")
    with rolling(stage):
        stage.start_controller()
    reason(stage.api)


def finale(stage: Stage, args: argparse.Namespace) -> None:
    if not args.keep:
        title("What to try next")
        keep = '"--propagation --keep"' if args.propagation else "--keep"
        rows = {f"make demo ARGS={keep}": "leave it running, and change things yourself"}
        for flag, what in VARIANTS.items():
            if not getattr(args, flag):
                rows[f"make demo ARGS=--{flag}"] = what
        rows["reroll run --help"] = "every setting"
        rows["docs/tutorial.md"] = "ten minutes with it on a cluster of yours"
        for row, what in rows.items():
            say(f"  {row:38} {what}")
        return
    pid = stage.keep()
    namespace, source = (
        (shop.NAMESPACE, shop.SOURCE) if args.propagation else (NAMESPACE, "application-config")
    )
    title("It keeps running")
    say(f"  export KUBECONFIG={stage.cluster.kubeconfig()}")
    say(f"  kubectl -n {namespace} edit configmap {source}")
    say(f"  kubectl -n {namespace} get pods,events")
    if args.propagation:
        shop.spare(stage.api)
        say(f"  reroll status -n {namespace}")
    if stage.visitor:
        say(f"  curl {stage.visitor.url}")
    say(f"  tail -f {stage.log}")
    say(f"  kill {pid}; reroll dev down --name {NAME}      ends the controller and the cluster")


VARIANTS = {
    "node": "with pods that run, and their page; needs root",
    "propagation": "a change that goes to a few first, stops when one fails, and rolls back",
    "dashboard": "the same, in a browser",
}


class Rollout:
    """How far the Deployment is."""

    def __init__(self, seen: dict[str, Any]) -> None:
        status = seen.get("status", {})
        self.total = seen["spec"]["replicas"]
        self.updated = status.get("updatedReplicas", 0)
        self.ready = status.get("readyReplicas", 0)
        self.generation = seen["metadata"]["generation"]
        current = status.get("observedGeneration") == self.generation
        everything = {status.get(f, 0) for f in ("replicas", "updatedReplicas", "readyReplicas")}
        self.done = current and everything == {self.total}
        self.progress = self.updated if current else 0


def rollout(api: Api) -> Rollout:
    return Rollout(api.get(DEPLOYMENT))


@contextmanager
def rolling(stage: Stage) -> Iterator[None]:
    """Show the roll that the change inside causes."""
    before = rollout(stage.api).generation
    with stage.visitor.visiting() if stage.visitor else nullcontext():
        yield
        stage.wait("the roll begins", lambda: rollout(stage.api).generation > before)
        with bar() as advance:

            def finished() -> bool:
                now = rollout(stage.api)
                advance(now.progress, now.total, now.ready)
                return now.done

            stage.wait("the roll is done", finished)
    if stage.visitor:
        say(f"  {stage.visitor.summary}")


@contextmanager
def still(stage: Stage) -> Iterator[None]:
    """Show that the change inside causes nothing."""
    before = rollout(stage.api).generation
    yield
    end = time.monotonic() + QUIET
    while time.monotonic() < end:
        if rollout(stage.api).generation != before:
            raise CommandError(f"something rolled that must not; see {stage.log}")
        time.sleep(0.1)
    say(f"  {QUIET:.0f} seconds later, the Deployment is the same: generation {before}")


def reason(api: Api) -> None:
    """The newest Event of a change that rolled the Deployment."""

    def ours() -> list[dict[str, Any]]:
        events = api.list(f"/api/v1/namespaces/{NAMESPACE}/events")
        return [
            e
            for e in events
            if e.get("source", {}).get("component") == "reroll"
            and (e["involvedObject"]["kind"], e["reason"]) == ("Deployment", "ConfigChanged")
        ]

    end = time.monotonic() + 10
    while not (found := ours()) and time.monotonic() < end:
        time.sleep(0.05)
    if found:
        newest = max(found, key=lambda e: int(e["metadata"]["resourceVersion"]))
        say(f"  Event  {newest['reason']}: {newest['message']}")


def curl(stage: Stage) -> None:
    """The page as a visitor sees it, if there is one, once no pod that is leaving serves it."""
    if stage.visitor:
        stage.wait(
            "the pods that are replaced end", lambda: not any(map(_leaves, _pods(stage.api)))
        )
        command("curl", stage.visitor.url)
        say(f"  {stage.visitor.page()}")


def pods(api: Api) -> None:
    for pod in sorted(_pods(api), key=lambda p: str(p["metadata"]["name"])):
        if not _leaves(pod):
            say(f"  pod    {pod['metadata']['name']}  {pod['status'].get('phase', '')}")


def _pods(api: Api) -> list[dict[str, Any]]:
    return api.list(f"/api/v1/namespaces/{NAMESPACE}/pods")


def _leaves(pod: dict[str, Any]) -> bool:
    return bool(pod["metadata"].get("deletionTimestamp"))


def show(documents: list[dict[str, Any]]) -> None:
    deployment = documents[1]
    say("  Deployment nginx, 3 replicas")
    say(f"    annotations  {json.dumps(deployment['metadata']['annotations'])}")
    say("    volume       index.html of ConfigMap application-config, by subPath")
    say("    env          TLS_PASSWORD, from Secret tls-password")


def dig(document: Any, *path: str) -> Any:
    for step in path:
        document = (document or {}).get(step)
    return document
