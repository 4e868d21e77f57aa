"""Sealed Secrets writes the Secret: a new value that it unseals rolls once, a new seal never."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from urllib.request import urlopen

import pytest
from tests.neighbours.looks import data, rolled_once, secret, templates
from tests.scenarios.revised import REVISIONS, copies, pin, pins
from tests.scenarios.stage import ENABLED, Controller, Stage, alone, eventually
from tests.support import build
from tests.support.build import Object
from tests.support.fixtures_neighbours import Running

Start = Callable[..., Controller]
WEB = build.deployment(uses="secret/db", annotations=ENABLED)
NEVER_PINNED = {"reroll.dev/revisions": "false"}


@pytest.fixture
def seal(
    neighbour: Callable[[str], Running], stage: Stage, tmp_path: Path
) -> Callable[[str], Object]:
    """`seal("value")`: what `kubeseal` makes of a Secret with this password."""
    running = neighbour("sealed-secrets")
    certificate = tmp_path / "seal.pem"
    with urlopen(f"http://127.0.0.1:{running.ports['sealed-secrets']}/v1/cert.pem") as answer:
        certificate.write_bytes(answer.read())

    def sealed(value: str) -> Object:
        plain = build.secret("db", {"password": value}, annotations=NEVER_PINNED)
        command = [running.programs["kubeseal"], "--cert", certificate, "--format", "json"]
        done = subprocess.run(
            [*command, "--namespace", stage.namespace],
            input=json.dumps(plain).encode(),
            capture_output=True,
            check=True,
        )
        made: Object = json.loads(done.stdout)
        return made

    return sealed


def unsealed(stage: Stage, times: int) -> None:
    """Wait until the controller says that it did so this often."""

    def told() -> bool:
        events = stage.api.list(f"/api/v1/namespaces/{stage.namespace}/events")
        counts = [event.get("count") or 1 for event in events if event["reason"] == "Unsealed"]
        return sum(counts) >= times

    eventually(told, f"{times} times unsealed")


def test_a_new_value_that_is_unsealed_rolls_once(
    stage: Stage, controller: Start, seal: Callable[[str], Object]
) -> None:
    stage.make(seal("one"))
    before = data(stage)
    stage.make(WEB)
    alone(controller)
    first = stage.adopted(WEB)

    sealed = seal("two")
    stage.api.patch(stage.path(sealed), {"spec": sealed["spec"]})

    record = rolled_once(stage, WEB, since=first["n"])
    assert record["by"] == ["secret/db"]
    assert data(stage) != before
    assert templates(stage, WEB) == 2


def test_the_same_value_sealed_anew_rolls_nothing(
    stage: Stage, controller: Start, seal: Callable[[str], Object]
) -> None:
    """As after the key was renewed: other bytes in the repository, the same Secret."""
    stage.make(seal("one"), WEB)
    before = data(stage)
    unsealed(stage, times=1)
    alone(controller)
    record = stage.adopted(WEB)

    sealed = seal("one")
    stage.api.patch(stage.path(sealed), {"spec": sealed["spec"]})
    unsealed(stage, times=2)

    stage.quiet(WEB, 3)
    assert data(stage) == before
    assert stage.record(WEB) == record
    assert templates(stage, WEB) == 1


def test_annotations_that_are_sealed_with_it_are_on_the_secret_and_keep_old_values_unpinned(
    stage: Stage, controller: Start, seal: Callable[[str], Object]
) -> None:
    pinned = build.deployment(uses=["secret/db", "configmap/app"], annotations=REVISIONS)
    stage.make(seal("one"), build.configmap("app"))
    assert secret(stage)["metadata"]["annotations"].items() >= NEVER_PINNED.items()
    stage.make(pinned)
    alone(controller)
    copy = pin(stage, pinned)
    number = stage.adopted(pinned)["n"]

    sealed = seal("two")
    stage.api.patch(stage.path(sealed), {"spec": sealed["spec"]})

    record = stage.rolled(pinned, since=number)
    stage.settled(pinned)
    assert record["by"] == ["secret/db"]
    assert pins(stage, pinned) == {("ConfigMap", "app"): copy}
    assert copies(stage, "db") == {}
