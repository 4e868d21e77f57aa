"""`reroll demo`: the main job, live, on a control plane of its own."""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Self

from reroll.cli.errors import CommandError
from reroll_dev import binaries
from reroll_dev.api import Api
from reroll_dev.cli.example import (
    CONFIG,
    DEPLOYMENT,
    NAMESPACE,
    PORT,
    SECRET,
    WEB,
    encoded,
    manifests,
    prepare,
)
from reroll_dev.cli.printing import bar, command, say, title
from reroll_dev.cli.visitor import Visitor
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


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Show the main job on a real control plane: an nginx whose page comes from a ConfigMap.\n"
        "The first run builds the control plane, which takes minutes. With --node the pods run, a\n"
        "small web server in the place of nginx, and the page is there to see."
    )
    parser.add_argument("--keep", action="store_true", help="leave cluster and controller running")
    parser.add_argument(
        "--node", action="store_true", help="with a real node; that takes Linux and root"
    )


def run(args: argparse.Namespace) -> int:
    progress = progress_on(sys.stderr, env=os.environ)
    cluster = DevCluster(default_folder(NAME, os.environ), progress=progress)
    try:
        start(cluster, progress, node=args.node)
        with Stage(cluster, real=args.node) as stage:
            play(stage)
            finale(stage, keep=args.keep)
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


class Stage:
    """The cluster, the controller, and a place to print on."""

    def __init__(self, cluster: DevCluster, *, real: bool = False) -> None:
        self.cluster = cluster
        self.api: Api = cluster.api()
        self.visitor = Visitor(f"{cluster.node.address}:{PORT}") if real else None
        self._starts = 0
        self._controller: subprocess.Popen[bytes] | None = None
        self._keep = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._keep:
            self.stop_controller()

    @property
    def log(self) -> Path:
        return self.cluster.layout.logs / f"reroll-{self._starts}.log"

    def keep(self) -> int:
        """Leave the controller running; its process id."""
        self._keep = True
        return self._controller.pid if self._controller else 0

    def start_controller(self) -> None:
        kubeconfig = str(self.cluster.kubeconfig("reroll"))
        command = (
            *(sys.executable, "-m", "reroll", "run", "--kubeconfig", kubeconfig),
            *("--namespace", "reroll", "--listen", "127.0.0.1:0", "--log-format", "text"),
        )
        self._starts += 1
        with self.log.open("wb") as log:
            self._controller = subprocess.Popen(
                command,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        self.wait("the controller leads", lambda: b"leading" in self.log.read_bytes())

    def stop_controller(self) -> None:
        if self._controller is not None:
            self._controller.terminate()
            self._controller.wait(20)
            self._controller = None

    def wait(self, what: str, holds: Callable[[], bool], seconds: float = 120.0) -> None:
        deadline = time.monotonic() + seconds
        while not holds():
            if self._controller is not None and self._controller.poll() is not None:
                raise CommandError(f"the controller ended; see {self.log}")
            if time.monotonic() > deadline:
                raise CommandError(f"timed out waiting until {what}; see {self.log}")
            time.sleep(0.05)


def play(stage: Stage) -> None:
    title("An nginx serves a page that a ConfigMap holds, and opted in to Reroll")
    prepare(stage.api, real=stage.visitor is not None)
    show(manifests())
    stage.start_controller()
    record = ("metadata", "annotations", "reroll.dev/state")
    stage.wait("the Deployment is adopted", lambda: dig(stage.api.get(DEPLOYMENT), *record))
    stage.wait("its pods are ready", lambda: rollout(stage.api).done)
    say("The controller runs. It recorded what the pods have, and rolled nothing:")
    pods(stage.api)
    curl(stage)

    title("1. The page changes: the pods roll, once, and the reason is there to see")
    command("kubectl patch configmap application-config", '{"data":{"index.html":"updated"}}')
    with rolling(stage):
        stage.api.patch(CONFIG, {"data": {"index.html": "updated"}})
    reason(stage.api)
    pods(stage.api)
    curl(stage)

    title("2. Only a label changes: nothing rolls")
    command("kubectl label configmap application-config", "team=web")
    with still(stage):
        stage.api.patch(CONFIG, {"metadata": {"labels": {"team": "web"}}})

    title("3. A key changes that the pods do not use: nothing rolls")
    command("kubectl patch configmap application-config", '{"data":{"notes.txt":"new"}}')
    with still(stage):
        stage.api.patch(CONFIG, {"data": {"notes.txt": "new"}})

    title("4. A Secret changes while the controller is down: it rolls when the controller is back")
    stage.stop_controller()
    say("The controller is stopped.")
    command("kubectl patch secret tls-password", '{"stringData":{"password":"…"}}')
    stage.api.patch(SECRET, {"data": {"password": encoded("correct horse")}})
    say("The Secret changed while no controller was watching. The controller starts again:")
    with rolling(stage):
        stage.start_controller()
    reason(stage.api)


def finale(stage: Stage, *, keep: bool) -> None:
    if not keep:
        title("What to try next")
        say("  make demo ARGS=--keep      leave it running, and change things yourself")
        if stage.visitor is None:
            say("  make demo ARGS=--node      with pods that run, and their page; needs root")
        say("  reroll run --help          every setting")
        say("  docs/index.md              the annotations, and how it decides")
        return
    pid = stage.keep()
    title("It keeps running")
    say(f"  export KUBECONFIG={stage.cluster.kubeconfig()}")
    say(f"  kubectl -n {NAMESPACE} edit configmap application-config")
    say(f"  kubectl -n {NAMESPACE} get pods,events")
    if stage.visitor:
        say(f"  curl {stage.visitor.url}")
    say(f"  tail -f {stage.log}")
    say(f"  kill {pid}; reroll dev down --name {NAME}      ends the controller and the cluster")


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
    """The newest Event of ours about the Deployment."""

    def ours() -> list[dict[str, Any]]:
        events = api.list(f"/api/v1/namespaces/{NAMESPACE}/events")
        return [e for e in events if e.get("source", {}).get("component") == "reroll"]

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
