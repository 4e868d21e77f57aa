"""What the scenarios are written with: the controller as a process, and looks at the world.

Assertions are about the state of the cluster: which templates there were, never which calls.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.support import build
from tests.support.build import Object, encode
from tests.support.settled import is_settled

import reroll
from reroll.core.tables.kinds import KINDS, Kind, Strategy
from reroll_dev.api import Api, looks, path_of, path_to

ENABLED = {"reroll.dev/enabled": "true"}
RECORD = "reroll.dev/state"
STAMP = "reroll.dev/config-hash"
PATIENCE = 60.0
TEMPLATES = {kind.name: kind.template for kind in KINDS}


def for_kinds(*strategies: Strategy) -> pytest.MarkDecorator:
    """Run a test with the fixture `kind` for each kind that can do all of these."""
    able = [kind for kind in KINDS if set(strategies) <= set(kind.strategies)]
    return pytest.mark.parametrize("kind", able, ids=[kind.name for kind in able], indirect=True)


def a(kind: Kind, name: str = "web", **modifiers: Any) -> Object:
    """A manifest of that kind, see `tests.support.build`."""
    builder: Callable[..., Object] = getattr(build, kind.name.lower())
    return builder(name, **modifiers)


def eventually(
    holds: Callable[[], Any],
    what: str = "",
    timeout: float = PATIENCE,
    instead: Callable[[], Any] = str,
) -> Any:
    """The first true answer; fails with what is so `instead` when time is up."""
    for _ in looks(timeout):
        if answer := holds():
            return answer
    raise AssertionError(f"not within {timeout:.0f} s: {what or 'the condition'} {instead()}")


class Controller:
    """`reroll run` on one namespace."""

    def __init__(
        self, kubeconfig: Path, namespace: str, log: Path, flags: tuple[str, ...] = ()
    ) -> None:
        self._kubeconfig, self.namespace, self.log = kubeconfig, namespace, log
        self.flags = flags
        self.program: tuple[str, ...] = ("-m", "reroll")
        self.process: subprocess.Popen[bytes] | None = None
        self._lines: list[dict[str, Any]] = []
        self._read = 0

    def start(self, *, wait: str = "leading", package: Path | None = None) -> None:
        """Start it, and wait for a log line with this message; `package`: of another release."""
        seen = len(self.lines())
        command = (
            *(sys.executable, *self.program, "run", "--kubeconfig", str(self._kubeconfig)),
            *("--namespace", self.namespace),
            *("--namespace-selector", f"kubernetes.io/metadata.name={self.namespace}"),
            *("--debounce", "300ms", "--listen", "127.0.0.1:0", "--lease-duration", "3s"),
            *("--log-format", "json", "--log-level", "debug"),
            *self.flags,
        )
        with self.log.open("ab") as log:
            env = environment(PYTHONPATH=str(package)) if package else None
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=env)
        if wait:
            self.wait_for(lambda line: line["msg"] == wait, since=seen)

    def lines(self) -> list[dict[str, Any]]:
        """What it logged until now; only what is new is read."""
        if self.log.exists():
            with self.log.open("rb") as log:
                log.seek(self._read)
                whole, end, _ = log.read().rpartition(b"\n")
            self._read += len(whole) + len(end)
            self._lines += (json.loads(line) for line in whole.split(b"\n") if line[:1] == b"{")
        return self._lines[:]

    def wait_for(
        self, holds: Callable[[Mapping[str, Any]], bool], since: int = 0
    ) -> dict[str, Any]:
        """The first log line after `since` for which it holds."""

        def found() -> dict[str, Any] | None:
            match = next((line for line in self.lines()[since:] if holds(line)), None)
            if match is None and self.process is not None and self.process.poll() is not None:
                raise AssertionError(f"the controller ended: {self.log.read_text()[-2000:]}")
            return match

        return eventually(found, f"a line in {self.log}")

    def said(self, reason: str, workload: str = "") -> list[dict[str, Any]]:
        return [
            line
            for line in self.lines()
            if line.get("reason") == reason and line.get("workload", "").endswith(workload)
        ]

    def stop(self) -> int:
        """As Kubernetes does it; the exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(20)

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait(20)

    def end(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.kill()


class Web:
    """The controller's own HTTP server.

    As long as this is there, its port is bound and nobody listens: who asks for any port does not
    get it, and who names it does.
    """

    def __init__(self) -> None:
        kept = socket.socket()
        weakref.finalize(self, kept.close)
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        kept.bind(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{kept.getsockname()[1]}"

    @property
    def flags(self) -> tuple[str, str]:
        return ("--listen", self.address)

    def get(self, path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://{self.address}{path}", timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def metrics(self) -> dict[str, float]:
        """Value by name and labels, as Prometheus reads them."""
        status, text = self.get("/metrics")
        assert status == 200
        lines = [line.rpartition(" ") for line in text.splitlines() if not line.startswith("#")]
        found = {name: float(value) for name, _, value in lines}
        assert len(found) == len(lines), "a metric is told twice"
        return found


def alone(start: Callable[..., Controller], *flags: str) -> Controller:
    """One that elects no leader: nobody's Lease has to be waited for when it was killed."""
    return start("--leader-election", "false", *flags, wait="watching")


def again(one: Controller) -> None:
    """Kill it and start it anew."""
    one.kill()
    one.start(wait="watching")


class Stage:
    """One namespace: make and change things in it, and see what became of them."""

    def __init__(self, api: Api, namespace: str) -> None:
        self.api, self.namespace = api, namespace

    def make(self, *manifests: Object) -> Object:
        """Create them; the last one as the API server shows it."""
        made: Object = {}
        for manifest in manifests:
            made = self.api.create(manifest, namespace=self.namespace)
        return made

    def path(self, manifest: Object) -> str:
        meta = {"namespace": self.namespace, **manifest["metadata"]}
        return path_of({**manifest, "metadata": meta})

    def get(self, manifest: Object) -> Object:
        return self.api.get(self.path(manifest))

    def change(self, kind: str, name: str, **data: str | None) -> Object:
        """Set keys of a ConfigMap or Secret; `None` removes one."""
        if kind == "Secret":
            data = {key: None if value is None else encode(value) for key, value in data.items()}
        return self.api.patch(path_to(kind, name, self.namespace), {"data": data})

    def annotate(self, manifest: Object, **annotations: str | None) -> Object:
        """Keys of our domain, written with `_` for `-`, by a writer that owns no template."""
        keys = {f"reroll.dev/{k.replace('_', '-')}": v for k, v in annotations.items()}
        body = {"metadata": {"annotations": keys}}
        return self.api.patch(self.path(manifest), body, fieldManager="kubectl-annotate")

    # What there is to see

    def record(self, manifest: Object) -> dict[str, Any]:
        """Our record on a workload; empty if there is none."""
        text = self.get(manifest)["metadata"].get("annotations", {}).get(RECORD)
        return json.loads(text) if text else {}

    def template(self, manifest: Object) -> Object:
        found = self.get(manifest)
        for step in TEMPLATES[manifest["kind"]]:
            found = found[step]
        return found

    def stamp(self, manifest: Object) -> str | None:
        stamp = self.template(manifest).get("metadata", {}).get("annotations", {}).get(STAMP)
        return None if stamp is None else str(stamp)

    def revisions(self, manifest: Object) -> list[Object]:
        """The ReplicaSets or ControllerRevisions of a workload: one for each template it had."""
        uid = self.get(manifest)["metadata"]["uid"]
        found = [
            one
            for plural in ("replicasets", "controllerrevisions")
            for one in self.api.list(f"/apis/apps/v1/namespaces/{self.namespace}/{plural}")
        ]
        return [
            one
            for one in found
            if any(owner["uid"] == uid for owner in one["metadata"].get("ownerReferences", ()))
        ]

    def events(self, manifest: Object, reason: str = "") -> list[Object]:
        """Our Events on an object."""
        found = self.api.list(f"/api/v1/namespaces/{self.namespace}/events")
        return [
            event
            for event in found
            if event.get("source", {}).get("component") == "reroll"
            and event["involvedObject"]["name"] == manifest["metadata"]["name"]
            and event["involvedObject"]["kind"] == manifest["kind"]
            and reason in {"", event["reason"]}
        ]

    def pods(self, manifest: Object) -> list[Object]:
        """Its pods, by label, less those that are on their way out."""
        path = path_to("Pod", "", self.namespace)
        found = self.api.list(path, labelSelector=f"app={manifest['metadata']['name']}")
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]

    def adopted(self, manifest: Object) -> dict[str, Any]:
        """Wait until the workload has a record."""
        return eventually(lambda: self.record(manifest), f"{manifest['kind']} is adopted")

    def settled(self, manifest: Object) -> Object:
        """Wait until all its pods are of the newest template."""
        return self.api.wait_for(self.path(manifest), is_settled, timeout=PATIENCE)

    def rolled(self, manifest: Object, since: int) -> dict[str, Any]:
        """Wait until it rolled after the record with this number; the new record."""

        def new() -> dict[str, Any] | None:
            record = self.record(manifest)
            return record if record.get("n", 0) > since and record.get("rolled") else None

        return eventually(new, f"{manifest['kind']} {manifest['metadata']['name']} rolls")

    def quiet(self, manifest: Object, seconds: float = 1.5) -> None:
        """Nothing about its template changes for a while. A settling time, not a measurement."""
        before = self.template(manifest)
        time.sleep(seconds)
        assert self.template(manifest) == before, "it rolled, and must not"


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, **more}


def program_on_the_path(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the program `reroll` in a folder where tools look for it; that folder."""
    place = folder / "bin"
    place.mkdir()
    program = place / "reroll"
    source = Path(reroll.__file__).parents[1]  # tools hand on no more of the environment than PATH
    program.write_text(f'#!/bin/sh\nPYTHONPATH={source} exec {sys.executable} -m reroll "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{place}{os.pathsep}{os.environ['PATH']}")
    return place
