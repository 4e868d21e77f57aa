"""The breaker: a source that changes all the time makes few rolls, and the last content one."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from threading import Event, Thread

import pytest
from tests.scenarios.stage import ENABLED, Stage, again, alone, eventually
from tests.scenarios.withdrawn import Start
from tests.support import build
from tests.support.build import Object

from reroll_dev.api import path_to
from reroll_dev.cluster import DevCluster

MOST = 3


def web(rolls: str = f"{MOST}/30s") -> Object:
    return build.deployment(
        "web", uses=["configmap/app"], annotations=ENABLED | {"reroll.dev/max-rolls": rolls}
    )


@contextmanager
def written_all_the_time(stage: Stage) -> Iterator[list[str]]:
    """By two writers in turn, always something new; the values so far."""
    over, values, number = Event(), list[str](), count()
    path = path_to("ConfigMap", "app", stage.namespace)

    def run() -> None:
        while not over.wait(0.4):
            n = next(number)
            value = f"value {n}"
            writer = ("argocd", "vault-agent")[n % 2]
            stage.api.patch(path, {"data": {"key": value}}, fieldManager=writer)
            values.append(value)

    thread = Thread(target=run, daemon=True)
    thread.start()
    try:
        yield values
    finally:
        over.set()
        thread.join()


def rolls(stage: Stage, one: Object) -> int:
    """How often it rolled: each content has a ReplicaSet of its own."""
    return len(stage.revisions(one)) - 1


@pytest.mark.slow
def test_a_source_that_changes_all_the_time_rolls_so_often_and_once_when_it_is_quiet(
    stage: Stage, controller: Start, cluster: DevCluster
) -> None:
    one = web()
    stage.make(build.configmap(), one)
    running = alone(controller)
    stage.adopted(one)
    stage.settled(one)
    since = cluster.audit_log.stat().st_size

    with written_all_the_time(stage) as values:
        eventually(lambda: rolls(stage, one) == MOST, "it rolls as often as it may")
        began = time.monotonic()
        (event, *_) = eventually(lambda: stage.events(one, "Flapping"), "people are told")
        eventually(lambda: _both_are_named(stage, one), "both writers are named")
        assert f"ConfigMap {stage.namespace}/app" in event["message"]
        again(running)
        eventually(lambda: running.said("Flapping", "web"), "it is known after a restart")
        assert len(values) > MOST + 2
        burst = stage.record(one)["burst"]
        if time.monotonic() - began < 20:  # Else its time may be over, and it rolls again.
            assert (burst["n"], rolls(stage, one)) == (MOST, MOST)

    n = stage.record(one)["n"]
    stage.rolled(one, since=n)
    stage.settled(one)
    final = rolls(stage, one)
    stage.quiet(one, 3)
    assert rolls(stage, one) == final
    assert _gets(cluster, since, stage.namespace) <= 8


def _both_are_named(stage: Stage, one: Object) -> bool:
    messages = [event["message"] for event in stage.events(one, "Flapping")]
    return any("argocd" in text and "vault-agent" in text for text in messages)


def _gets(cluster: DevCluster, since: int, namespace: str) -> int:
    """How often the source was read by itself, as the audit log tells."""
    with cluster.audit_log.open("rb") as log:
        log.seek(since)
        path = f"/namespaces/{namespace}/configmaps/app".encode()
        return sum(b'"verb":"get"' in line and path in line for line in log)


def test_zero_turns_the_breaker_off(stage: Stage, controller: Start) -> None:
    one = web("0/1h")
    stage.make(build.configmap(), one)
    running = alone(controller, "--debounce", "0s")
    stage.adopted(one)
    for number in range(25):
        n = stage.record(one)["n"]
        stage.change("ConfigMap", "app", key=f"value {number}")
        stage.rolled(one, since=n)
    assert not running.said("Flapping")
