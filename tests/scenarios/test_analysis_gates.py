"""Gates that are AnalysisRuns: made by us, carried out by the controller of Argo Rollouts."""

import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from tests.scenarios import custom
from tests.scenarios.propagating import begun, change, judged, planned, rolled, told, web
from tests.scenarios.rolling import Command
from tests.scenarios.stage import Controller, Stage, again, eventually
from tests.support import build

from reroll_dev.api import path_of, path_to

Start = Callable[..., Controller]
pytestmark = pytest.mark.usefixtures("rollouts")
ARGO = "argoproj.io/v1alpha1"
GOOD, BAD, NEITHER = 1, 2, 3


class Measured:
    """What is measured of each workload, the last value again and again.

    One that has no value yet is measured until it has.
    """

    def __init__(self) -> None:
        self.values: dict[str, list[int]] = {}
        self.known, self.asked = Event(), Event()
        one = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                name = self.path.strip("/")
                if name not in one.values:
                    one.asked.set()
                    one.known.wait()
                left = one.values.get(name, [NEITHER])
                value = left.pop(0) if len(left) > 1 else left[0]
                body = json.dumps({"value": value}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Not on the terminal."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"


@pytest.fixture
def measured() -> Iterator[Measured]:
    one = Measured()
    thread = Thread(target=one.server.serve_forever, daemon=True)
    thread.start()
    yield one
    one.known.set()
    one.server.shutdown()
    one.server.server_close()
    thread.join()


def template(name: str, kind: str = "AnalysisTemplate", **spec: Any) -> build.Object:
    return {"apiVersion": ARGO, "kind": kind, "metadata": {"name": name}, "spec": spec}


@pytest.fixture
def config(stage: Stage, measured: Measured, tmp_path: Path) -> Iterator[Path]:
    """One template measures, and two refer to it: one in the namespace, one for the cluster."""
    answers = {"jsonPath": "{$.value}", "url": measured.url + "/{{args.service}}"}
    metric = {
        "name": "health",
        "successCondition": f"result == {GOOD}",
        "failureCondition": f"result == {BAD}",
        "provider": {"web": {**answers, "timeoutSeconds": 300}},
    }
    args = [{"name": "service"}]
    shared = template(f"shared-{stage.namespace}", "ClusterAnalysisTemplate",
                      templates=[{"templateName": "health"}], args=args)  # fmt: skip
    stage.make(template("health", metrics=[metric], args=args))
    stage.api.create(shared)
    row = {"args": {"service": "$workload"}}
    often = {**row, "every": "1s"}
    rows = [
        {"name": "health", "analysisTemplate": "health", **often},
        {"name": "shared", "clusterAnalysisTemplate": shared["metadata"]["name"], **often},
        {"name": "rarely", "analysisTemplate": "health", **row},
        {"name": "missing", "analysisTemplate": "helth"},
    ]
    yield custom.config(tmp_path, {"gates": rows})
    stage.api.delete(path_of(shared))


def runs(stage: Stage) -> dict[str, str]:
    """The uids of AnalysisRuns, by what they are for."""
    found = stage.api.list(path_to("AnalysisRun", "", stage.namespace, version=ARGO))
    return {one["metadata"]["name"].rpartition("-")[0]: one["metadata"]["uid"] for one in found}


def test_a_roll_waits_for_its_analysis(
    stage: Stage, controller: Start, measured: Measured, config: Path
) -> None:
    first, second = web(0, gates="health"), web(1, gates="shared")
    lost, free = web(2, gates="missing"), web(3)
    everyone = (first, second, lost, free)
    stage.make(build.configmap(), *everyone)
    begun(stage, controller, everyone, "--config", config)

    measured.values = {"web-0": [BAD], "web-1": [NEITHER]}
    change(stage, "new")
    told(stage, first, "GateClosed", "health: AnalysisRun web-0-health-waiting-", "health Failed")
    told(stage, second, "GateUnknown", "shared: AnalysisRun web-1-shared-waiting-", "Inconclusive")
    where = f"in namespace {stage.namespace}; create it"
    told(stage, lost, "GateUnknown", f"missing: there is no AnalysisTemplate helth {where}")
    eventually(lambda: rolled(stage, everyone) == ["web-3"], "only what has no gate rolls")
    made = {"web-0-health-waiting", "web-1-shared-waiting"}
    eventually(lambda: runs(stage).keys() == made, "there is one for each")

    measured.values = {"web-0": [GOOD], "web-1": [GOOD]}
    judged(stage, first, "healthy")
    judged(stage, second, "healthy")
    assert set(rolled(stage, everyone)) == {"web-0", "web-1", "web-3"}

    # What is left goes with its workload. On a busy machine it may just have been asked again,
    # and that run is stopped.
    assert [name for name in runs(stage) if name.startswith("web-0-health-")]
    stage.api.delete(stage.path(first))
    eventually(lambda: not [name for name in runs(stage) if "web-0" in name], "its runs are gone")


def test_an_analysis_outlives_a_restart_and_decides_while_it_soaks(
    stage: Stage, controller: Start, measured: Measured, config: Path, plan: Command
) -> None:
    first, second = web(0, gates="rarely", soak="1h", wave="-1"), web(1)
    stage.make(build.configmap(), first, second)
    one = begun(stage, controller, (first, second), "--config", config)

    change(stage, "bad")
    eventually(measured.asked.is_set, "it is being measured")
    before = runs(stage)
    again(one)
    measured.values["web-0"] = [GOOD, BAD]
    measured.known.set()
    trial = judged(stage, first, "failed")
    assert trial["why"].startswith("gate rarely: AnalysisRun web-0-rarely-progressing-")
    assert runs(stage)["web-0-rarely-waiting"] == before["web-0-rarely-waiting"]
    assert "web-0" in planned(plan, "Stopped", "web-1")


def test_a_run_that_nobody_waits_for_any_more_is_stopped(
    stage: Stage, controller: Start, measured: Measured, config: Path
) -> None:
    one = web(0, gates="health")
    stage.make(build.configmap(), one)
    begun(stage, controller, (one,), "--config", config)

    change(stage, "new")
    eventually(measured.asked.is_set, "it is being measured")
    stage.annotate(one, gates=None)
    eventually(lambda: rolled(stage, (one,)), "it rolls")
    eventually(lambda: not runs(stage), "its run is gone")
