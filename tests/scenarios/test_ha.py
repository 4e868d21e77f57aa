"""Wrong clocks, an API server that is away, and two installations side by side.

What becomes of a leader that dies, freezes or is cut off is shown in `test_replicas.py`.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.scenarios.stage import ENABLED, Controller, Stage, eventually
from tests.scenarios.test_evictions import EVICT, Evictions, evictions, finished, uids
from tests.scenarios.test_replicas import Storm, holder
from tests.support import build
from tests.support.faultproxy import FaultProxy

from reroll.core.tables import rights
from reroll.core.tables.kinds import KINDS
from reroll_dev.api import path_to

__all__ = ["evictions"]
Start = Callable[..., Controller]
HOUR = 3600


@pytest.fixture
def storm(stage: Stage) -> Iterator[Storm]:
    made = Storm(stage, 8)
    with made.templates:
        yield made


# Clocks that are wrong


def lease(stage: Stage) -> dict[str, Any]:
    spec: dict[str, Any] = stage.api.get(path_to("Lease", "reroll", stage.namespace))["spec"]
    return spec


@pytest.mark.slow
def test_clocks_that_differ_by_hours_decide_nothing(stage: Stage, controller: Start) -> None:
    """Who leads is told by renewals that were seen, and which record is newer by its number."""
    web = build.deployment("web", replicas=0, uses="configmap/app", annotations=ENABLED)
    stage.make(build.configmap("app"), web)
    right = controller()
    number = stage.adopted(web)["n"]
    ahead = controller(wait="watching", skew=HOUR)
    behind = controller(wait="watching", skew=-HOUR)
    seen = {lease(stage)["renewTime"]}
    eventually(
        lambda: seen.add(lease(stage)["renewTime"]) or len(seen) > 10,
        "the Lease is renewed for longer than it lasts",
    )
    assert lease(stage).get("leaseTransitions", 0) == 0, "one with another clock took it"

    leaders = [right, ahead, behind]
    for change in range(3):
        stage.change("ConfigMap", "app", key=f"change {change}")
        number = stage.rolled(web, since=number)["n"]
        stage.settled(web)  # else its ReplicaSet may never be made
        leader = eventually(
            lambda: next((one for one in leaders if one.said("ConfigChanged")), None), "one tells"
        )
        leader.kill()
        leaders.remove(leader)

    assert len(stage.revisions(web)) == 4


@pytest.mark.parametrize("skew", [30, -30], ids=["ahead", "behind"])
def test_a_wrong_clock_evicts_every_old_pod_once_and_no_new_one(
    stage: Stage, controller: Start, evictions: Evictions, skew: int
) -> None:
    web = build.deployment(uses="configmap/app", annotations=EVICT, replicas=2)
    stage.make(build.configmap("app"), web)
    controller(skew=skew)
    stage.settled(web)
    first = int(stage.adopted(web)["n"])
    old = stage.pods(web)

    stage.change("ConfigMap", "app", key="new")
    stage.rolled(web, since=first)
    finished(stage, web)
    stage.settled(web)

    assert sorted(evictions.names()) == sorted(pod["metadata"]["name"] for pod in old)
    assert uids(stage.pods(web)).isdisjoint(uids(old))


# An API server that is away


def test_while_the_api_server_is_away_nobody_leads_and_afterwards_each_rolls_once(
    fault_proxy: FaultProxy, storm: Storm, controller: Start, reroll_kubeconfig: Path
) -> None:
    """For longer than the Lease lasts. What changed meanwhile is one roll, whoever does it."""
    kubeconfig = fault_proxy.kubeconfig(reroll_kubeconfig)
    one = controller("--debounce", "0", kubeconfig=kubeconfig)
    other = controller("--debounce", "0", kubeconfig=kubeconfig, wait="watching")
    storm.adopted()
    storm.blow(1)

    fault_proxy.refuse()
    storm.blow(2)
    one.wait_for(lambda line: line["msg"] == "no longer leading")
    fault_proxy.accept()

    storm.check()
    assert one.process is not None
    assert other.process is not None
    assert (one.process.poll(), other.process.poll()) == (None, None)
    assert holder(storm.stage)


# A cluster in parts


@pytest.fixture
def release(
    another: Callable[..., Stage], kubeconfig_for: Callable[..., Path], controller: Start
) -> Callable[[str], Controller]:
    """`release("team=a")`: an installation of its own for the namespaces with that label."""

    def install(selector: str) -> Controller:
        home, name = another(), selector.replace("=", "-")
        own = rights.own(f"key-{name}", f"lease-{name}")
        rules = [*rights.cluster(KINDS, features=rights.EVERYTHING), *own]
        return controller(
            *("--namespace", home.namespace, "--namespace-selector", selector),
            *("--lease", f"lease-{name}", "--digest-key", f"key-{name}"),
            kubeconfig=kubeconfig_for(rules, None),
        )

    return install


def test_two_installations_part_a_cluster_by_the_labels_of_namespaces(
    stage: Stage, another: Callable[..., Stage], release: Callable[[str], Controller]
) -> None:
    """Each has its Lease and its key, both lead at once, and a namespace can move over."""
    part = stage.namespace
    places = {name: another(labels={part: name}) for name in ("a", "b", "neither")}
    webs = {name: build.deployment(f"web-{name}", replicas=0, uses=["configmap/app", "secret/db"],
                                   annotations=ENABLED) for name in places}  # fmt: skip
    for name, place in places.items():
        place.make(build.configmap("app"), build.secret("db"), webs[name])
    both = {name: release(f"{part}={name}") for name in ("a", "b")}
    numbers = {name: places[name].adopted(webs[name])["n"] for name in both}

    for name, place in places.items():
        place.settled(webs[name])
        place.change("Secret", "db", password="new")
    for name in both:
        numbers[name] = places[name].rolled(webs[name], since=numbers[name])["n"]
        places[name].settled(webs[name])  # else its ReplicaSet may never be made
    stage.api.patch(
        path_to("Namespace", places["a"].namespace), {"metadata": {"labels": {part: "b"}}}
    )
    # A Secret, at once: that its record has the key of the one before hides no change.
    places["a"].change("Secret", "db", password="after it moved")
    places["a"].rolled(webs["a"], since=numbers["a"])
    places["a"].settled(webs["a"])
    eventually(lambda: both["b"].said("ConfigChanged", "/web-a"), "that it rolled is told")

    assert not places["neither"].record(webs["neither"])
    assert [len(places[name].revisions(webs[name])) for name in places] == [3, 2, 1]
    for name, expected in (("a", ["web-a"]), ("b", ["web-b", "web-a"])):
        told = [line["workload"].rpartition("/")[2] for line in both[name].said("ConfigChanged")]
        assert told == expected
