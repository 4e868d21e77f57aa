"""Gates of the config file, with a small server in the place of a Prometheus and of a webhook."""

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

Start = Callable[..., Controller]


class Answering:
    """`value` is what queries come to, `status` what the webhook says; `/dead` says nothing."""

    def __init__(self) -> None:
        self.value, self.status = "0", 403
        self.asked: list[dict[str, Any]] = []
        self.end = Event()
        one = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.path.startswith("/dead"):
                    one.end.wait()
                elif self.path == "/hook":
                    one.asked.append(json.loads(body))
                    self.answer(one.status, b"")
                else:
                    sample = {"metric": {}, "value": [1, one.value]}
                    data = {"resultType": "vector", "result": [sample]}
                    found = {"status": "success", "data": data}
                    self.answer(200, json.dumps(found).encode())

            def answer(self, status: int, body: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Not on the terminal."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"


@pytest.fixture
def answering() -> Iterator[Answering]:
    one = Answering()
    thread = Thread(target=one.server.serve_forever, daemon=True)
    thread.start()
    yield one
    one.end.set()
    one.server.shutdown()
    one.server.server_close()
    thread.join()


@pytest.fixture
def config(answering: Answering, tmp_path: Path) -> Path:
    often = {"every": "1s", "timeout": "1s"}
    rows = [
        {"name": "board", "webhook": {"url": f"{answering.url}/hook"}, **often},
        {"name": "dead", "webhook": {"url": f"{answering.url}/dead"}, **often},
        {"name": "errors", "prometheus": {"url": answering.url}, "query": "x", "max": 1, **often},
    ]
    return custom.config(tmp_path, {"gates": rows})


def test_a_roll_waits_for_its_gate_and_delays_nobody_else(
    stage: Stage, controller: Start, answering: Answering, config: Path, explain: Command
) -> None:
    gated, behind, free = web(0, gates="board"), web(1, gates="dead"), web(2)
    misspelt = web(3, gates="boards")
    everyone = (gated, behind, free, misspelt)
    stage.make(build.configmap(), *everyone)
    one = begun(stage, controller, everyone, "--config", config)

    change(stage, "new")
    told(stage, gated, "GateClosed", "board: it answered 403")
    told(stage, behind, "GateUnknown", "dead: no answer from 127.0.0.1:", "within 1 s")
    told(stage, misspelt, "GateUnknown", "boards: the config file has no such gate")
    eventually(lambda: rolled(stage, everyone) == ["web-2"], "only what has no gate rolls")
    document = answering.asked[0]
    assert document == {
        "name": "web-0",
        "namespace": stage.namespace,
        "phase": "Waiting",
        "metadata": {"kind": "Deployment"},
    }
    said = explain("deployment/web-0", "--config", config).out
    assert "the controller asks it" in said

    again(one)  # Nothing of it is only in memory.
    answering.status = 200
    judged(stage, gated, "healthy")
    assert {asked["phase"] for asked in answering.asked} == {"Waiting", "Progressing"}
    assert rolled(stage, everyone) == ["web-2", "web-0"]


def test_what_its_gate_finds_bad_while_it_soaks_stops_the_change(
    stage: Stage, controller: Start, answering: Answering, config: Path, plan: Command
) -> None:
    first, second = web(0, gates="errors", soak="1h", wave="-1"), web(1)
    stage.make(build.configmap(), first, second)
    begun(stage, controller, (first, second), "--config", config)

    change(stage, "bad")
    eventually(lambda: rolled(stage, (first,)), "its gate is open, and it rolls")
    eventually(lambda: first_is(stage, first), "it soaks")
    answering.value = "NaN"
    told(stage, first, "GateUnknown", "errors while it soaks: a value is NaN")
    answering.value = "7"
    trial = judged(stage, first, "failed")
    assert trial["why"] == "gate errors: 7 is over 1, 2 of 2 in a row"
    assert "web-0" in planned(plan, "Stopped", "web-1")


def first_is(stage: Stage, one: build.Object) -> bool:
    stage.settled(one)
    return bool(stage.record(one).get("trial")) and not stage.record(one)["trial"].get("v")
