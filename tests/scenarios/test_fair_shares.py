"""What one namespace does keeps no other one waiting."""

import socket
import uuid
from collections.abc import Callable, Iterator
from threading import Thread
from typing import Any

import pytest
from tests.scenarios.listener import ADDRESS
from tests.scenarios.stage import ENABLED, Controller, Stage, eventually
from tests.support import build

Start = Callable[..., Controller]
WORKERS = 4


class Silent:
    """What takes connections and never answers."""

    def __init__(self) -> None:
        self.taken: list[socket.socket] = []
        self.server = socket.create_server((ADDRESS, 0))
        self.port = self.server.getsockname()[1]
        self.thread = Thread(target=self._take, daemon=True)
        self.thread.start()

    def _take(self) -> None:
        try:
            while True:
                self.taken.append(self.server.accept()[0])
        except OSError:
            return  # It is closed.

    def close(self) -> None:
        self.server.shutdown(socket.SHUT_RDWR)
        self.server.close()
        self.thread.join()
        for one in self.taken:
            one.close()


@pytest.fixture
def silent() -> Iterator[Silent]:
    one = Silent()
    yield one
    one.close()


def reloading(name: str, silent: Silent) -> build.Object:
    asked = {"reroll.dev/strategy": "reload", "reroll.dev/reload-port": str(silent.port)}
    here = {"dev.reroll.dev/address": ADDRESS}
    annotations = {**ENABLED, **asked}
    return build.deployment(
        name, mounts="configmap/app", annotations=annotations, template_annotations=here
    )


def order(running: Controller, *wanted: tuple[str, str]) -> list[tuple[str, str]]:
    """Reason and workload of the first log line for each of these pairs, in their order."""

    def pair(line: dict[str, Any]) -> tuple[str, str]:
        return line.get("reason", ""), line.get("workload", "").rpartition("/")[2]

    return list(dict.fromkeys(one for one in map(pair, running.lines()) if one in wanted))


@pytest.mark.slow
def test_pods_that_never_answer_keep_no_roll_waiting(
    another: Callable[..., Stage], controller: Start, silent: Silent
) -> None:
    label = {"run": uuid.uuid4().hex[:8]}
    hostile, quiet = another(labels=label), another(labels=label)
    targets = [reloading(f"web-{n}", silent) for n in range(2 * WORKERS)]
    shop = build.deployment("shop", uses="configmap/app", annotations=ENABLED)
    hostile.make(build.configmap("app"), *targets)
    quiet.make(build.configmap("app"), shop)
    running = controller(
        *("--namespace-selector", f"run={label['run']}", "--concurrency", str(WORKERS))
    )
    numbers = {one["metadata"]["name"]: hostile.adopted(one)["n"] for one in targets}
    number = quiet.adopted(shop)["n"]
    for one in targets:
        hostile.settled(one)

    hostile.change("ConfigMap", "app", key="new")
    eventually(lambda: len(silent.taken) >= WORKERS, "as many hang as there are workers")
    quiet.change("ConfigMap", "app", key="new")
    quiet.rolled(shop, since=number)
    for one in targets:
        written = hostile.rolled(one, since=numbers[one["metadata"]["name"]])
        assert written["todo"]["do"] == "reload"

    rolled, refused = ("ConfigChanged", "shop"), ("ReloadRefused", "web-0")
    eventually(lambda: refused in order(running, rolled, refused), "the first is given up")
    assert order(running, rolled, refused) == [rolled, refused]


def test_a_workload_whose_pods_hang_is_looked_at_at_once_when_its_configuration_changes(
    stage: Stage, controller: Start, silent: Silent
) -> None:
    web = reloading("web", silent)
    stage.make(build.configmap("app"), web)
    running = controller()
    number = stage.adopted(web)["n"]
    stage.settled(web)
    stage.change("ConfigMap", "app", key="new")
    number = stage.rolled(web, since=number)["n"]
    eventually(lambda: silent.taken, "its pod is asked")

    stage.change("ConfigMap", "app", key="newer")

    stage.rolled(web, since=number)
    assert running.said("ReloadRefused") == []
    assert len(silent.taken) == 1  # The pod is not asked by two at the same time.
