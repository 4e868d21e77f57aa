"""Fixtures of the tests with a real Prometheus and Alertmanager.

A test that uses one of them carries the marker `prometheus`, and runs only with
`make test-prometheus`.
"""

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest
import yaml

from reroll_dev import binaries, monitoring, processes, readiness
from reroll_dev.layout import Layout


@pytest.fixture(scope="session")
def prometheus_programs() -> Mapping[str, Path]:
    """Prometheus, promtool and Alertmanager; a missing one is a failure that says what to do."""
    found = binaries.find(binaries.PROMETHEUS, env=os.environ)
    if missing := [name for name, path in found.items() if path is None]:
        pytest.fail(
            f"{', '.join(missing)} missing; run `reroll dev build --prometheus` (minutes, once),"
            " or set KUBEBUILDER_ASSETS to where they are",
            pytrace=False,
        )
    return {name: path for name, path in found.items() if path}


class Monitoring:
    """A Prometheus and an Alertmanager of a test's own."""

    def __init__(self, programs: Mapping[str, Path], folder: Path) -> None:
        self._programs, self._layout = programs, Layout(folder)
        self.home = monitoring.folder(self._layout)
        self.prometheus, self.alertmanager = processes.free_port(), processes.free_port()
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        monitoring.write_configs(self._layout, self.alertmanager)

    def start(self) -> None:
        """What does not run of them, until both answer."""
        for name, command, port in (
            (monitoring.ALERTMANAGER, monitoring.alertmanager, self.alertmanager),
            (monitoring.PROMETHEUS, monitoring.prometheus, self.prometheus),
        ):
            if name not in self._running:
                line = command(self._programs[name], self._layout, port)
                with (self.home / f"{name}.log").open("ab") as log:
                    self._running[name] = subprocess.Popen(line, stdout=log, stderr=log)
            until(lambda port=port, name=name: self._answers(name, port), f"{name} answers")

    def _answers(self, name: str, port: int) -> bool:
        log = self.home / f"{name}.log"
        assert self._running[name].poll() is None, f"{name} ended: {processes.last_lines(log)}"
        return readiness.answers(port, monitoring.READY)

    def stop(self, *names: str) -> None:
        for name in names or tuple(self._running):
            process = self._running.pop(name)
            process.terminate()
            process.wait(30)

    def rules(self, *rules: dict[str, Any]) -> None:
        """These are evaluated from now on, and no others."""
        groups = {"groups": [{"name": "tests", "rules": list(rules)}]}
        (self.home / "rules" / "tests.yaml").write_text(yaml.safe_dump(groups))
        with urlopen(Request(f"{self.url}/-/reload", method="POST"), timeout=10):
            pass

    def scrape(self, *targets: str, **labels: str) -> None:
        document = json.dumps([{"targets": list(targets), "labels": labels}])
        (self.home / "scrapes" / "tests.json").write_text(document)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.prometheus}"

    @property
    def alerts_url(self) -> str:
        return f"http://127.0.0.1:{self.alertmanager}"

    def query(self, text: str) -> list[dict[str, Any]]:
        """The samples that it answers with; a query that it refuses is an error."""
        asked = f"{self.url}/api/v1/query?{urlencode({'query': text})}"
        with urlopen(asked, timeout=10) as answer:
            found: list[dict[str, Any]] = json.load(answer)["data"]["result"]
        return found

    def silence(self, alert: str) -> None:
        """Nobody wants to hear of it for an hour."""
        now = time.time()
        times = {
            key: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))
            for key, at in (("startsAt", now - 60), ("endsAt", now + 3600))
        }
        matcher = {"name": "alertname", "value": alert, "isRegex": False, "isEqual": True}
        body = {"matchers": [matcher], "createdBy": "test", "comment": "test", **times}
        request = Request(
            f"{self.alerts_url}/api/v2/silences",
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        with urlopen(request, timeout=10):
            pass


def until(holds: Callable[[], Any], what: str, seconds: float = 60) -> Any:
    end = time.monotonic() + seconds
    while True:
        try:
            if found := holds():
                return found
        except URLError:
            pass
        assert time.monotonic() < end, f"not within {seconds:.0f} s: {what}"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def monitored(
    prometheus_programs: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Monitoring]:
    """A Prometheus and an Alertmanager that run, for the tests of one module."""
    one = Monitoring(prometheus_programs, tmp_path_factory.mktemp("monitoring"))
    try:
        one.start()
        yield one
    finally:
        one.stop()
