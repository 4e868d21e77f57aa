"""Stopping, and two replicas: one acts, the other takes over; nothing is lost or doubled."""

import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.scenarios.stage import ENABLED, Controller, Stage, eventually
from tests.support import build
from tests.support.faultproxy import FaultProxy
from tests.support.faults import ALL_OF_THEM, Delay, Match, Silence
from tests.support.templates import Templates

from reroll_dev.api import path_to

Start = Callable[..., Controller]
PATCH = Match(method="PATCH", path="/deployments/")


@pytest.fixture
def web(stage: Stage) -> build.Object:
    made = build.deployment("web", replicas=0, uses="configmap/app", annotations=ENABLED)
    stage.make(build.configmap("app"), made)
    return made


def holder(stage: Stage) -> str:
    lease = stage.api.get(path_to("Lease", "reroll", stage.namespace))
    return str(lease["spec"].get("holderIdentity") or "")


# Stopping


def test_a_stop_ends_with_0_and_gives_the_lease_back_so_that_another_leads_at_once(
    stage: Stage, controller: Start, web: build.Object
) -> None:
    first = controller("--lease-duration", "1h")
    first.wait_for(lambda line: line.get("reason") == "Adopted")
    assert holder(stage)

    assert first.stop() == 0

    assert holder(stage) == ""
    assert [line["msg"] for line in first.lines() if line["level"] == "info"][-1] == "stopping"
    second = controller("--lease-duration", "1h")
    stage.change("ConfigMap", "app", key="new")
    stage.rolled(web, since=0)
    assert second.stop() == 0


def test_what_is_under_way_when_asked_to_stop_is_finished_and_told(
    fault_proxy: FaultProxy, stage: Stage, controller: Start, reroll_kubeconfig: Path
) -> None:
    webs = [
        build.deployment(f"web-{n}", replicas=0, uses="configmap/app", annotations=ENABLED)
        for n in range(3)
    ]
    stage.make(build.configmap("app"), *webs)
    one = controller(kubeconfig=fault_proxy.kubeconfig(reroll_kubeconfig))
    for web in webs:
        stage.adopted(web)
    fault_proxy.inject(Delay(2.0), PATCH, times=None)
    stage.change("ConfigMap", "app", key="new")
    fault_proxy.wait_for("Delay", PATCH, times=3)

    assert one.stop() == 0

    assert len(one.said("ConfigChanged")) == 3
    for web in webs:
        assert stage.record(web)["why"] == "ConfigChanged"
        assert len(stage.events(web, "ConfigChanged")) == 1
    assert stage.events(build.configmap("app"), "ConfigChanged")


def test_a_stop_waits_no_longer_than_its_deadline(
    fault_proxy: FaultProxy, stage: Stage, controller: Start, reroll_kubeconfig: Path
) -> None:
    web = build.deployment("web", replicas=0, uses="configmap/app", annotations=ENABLED)
    stage.make(build.configmap("app"), web)
    one = controller("--grace", "2s", kubeconfig=fault_proxy.kubeconfig(reroll_kubeconfig))
    stage.adopted(web)
    fault_proxy.inject(Silence(), PATCH, times=None)
    stage.change("ConfigMap", "app", key="new")
    fault_proxy.wait_for("Silence", PATCH)

    assert one.stop() == 0
    assert holder(stage) == ""


@pytest.mark.parametrize("path", ["/secrets/reroll-digest-key", "/namespaces$", "/deployments$"])
def test_a_stop_before_the_api_server_has_answered_is_a_good_one(
    fault_proxy: FaultProxy, controller: Start, reroll_kubeconfig: Path, path: str
) -> None:
    fault_proxy.inject(Silence(), Match(path=path), times=None)
    kubeconfig = fault_proxy.kubeconfig(reroll_kubeconfig)
    one = controller(kubeconfig=kubeconfig, wait="starting")
    fault_proxy.wait_for("Silence", Match(path=path))

    assert one.stop() == 0


# Two replicas


@pytest.fixture
def two(controller: Start) -> Callable[..., tuple[Controller, Controller]]:
    """Start a leader and a follower that is ready to take over."""

    def start(*flags: str, first: Path | None = None) -> tuple[Controller, Controller]:
        leader = controller(*flags, **({"kubeconfig": first} if first else {}))
        return leader, controller(*flags, wait="watching")

    return start


def test_the_follower_does_nothing_until_the_leader_is_gone(
    stage: Stage, two: Callable[..., tuple[Controller, Controller]], web: build.Object
) -> None:
    leader, follower = two()
    first = stage.adopted(web)
    stage.settled(web)
    stage.change("ConfigMap", "app", key="by the leader")
    second = stage.rolled(web, since=first["n"])
    stage.settled(web)
    assert not [line for line in follower.lines() if "workload" in line]

    leader.kill()
    stage.change("ConfigMap", "app", key="by nobody yet")

    stage.rolled(web, since=second["n"])
    stage.quiet(web)
    stage.settled(web)
    assert len(stage.revisions(web)) == 3
    assert len(follower.said("ConfigChanged")) == 1


class Storm:
    """Workloads with a source each, changed from several sides at once."""

    def __init__(self, stage: Stage, size: int) -> None:
        self.stage = stage
        self.webs = [
            build.deployment(
                f"web-{n}",
                replicas=0,
                uses=f"configmap/app-{n}" if n % 2 else f"secret/app-{n}",
                annotations=ENABLED,
            )
            for n in range(size)
        ]
        makers = (build.secret, build.configmap)
        stage.make(*(makers[n % 2](f"app-{n}") for n in range(size)), *self.webs)
        self.changes: list[list[int]] = [[] for _ in self.webs]
        """For each, the versions at which its source changed."""
        self.templates = Templates(stage.api, stage.namespace, "Deployment")

    def adopted(self) -> None:
        for web in self.webs:
            self.stage.adopted(web)

    def blow(self, rounds: int) -> None:
        """Change every source so many times, each time to what it never was."""
        for _ in range(rounds):
            with ThreadPoolExecutor(4) as pool:
                list(pool.map(self._change, range(len(self.webs))))

    def _change(self, n: int) -> None:
        value = f"change {len(self.changes[n])}"
        changed = self.stage.change("ConfigMap" if n % 2 else "Secret", f"app-{n}", key=value)
        self.changes[n].append(int(changed["metadata"]["resourceVersion"]))

    def check(self) -> None:
        """Nothing lost, nothing doubled."""
        eventually(self._is_over, "all have rolled with the last change", 60)
        self.stage.quiet(self.webs[0])
        for web, changes in zip(self.webs, self.changes, strict=True):
            self.templates.check(web, changes)

    def _is_over(self) -> bool:
        pairs = zip(self.webs, self.changes, strict=True)
        return all(self.templates.of(web)[-1] > changes[-1] for web, changes in pairs)


@pytest.fixture
def storm(stage: Stage) -> Iterator[Storm]:
    made = Storm(stage, 8)
    with made.templates:
        yield made


@pytest.mark.slow
def test_a_leader_that_is_killed_in_mid_storm_loses_nothing_and_doubles_nothing(
    storm: Storm, two: Callable[..., tuple[Controller, Controller]]
) -> None:
    leader, _ = two("--debounce", "0")
    storm.adopted()

    storm.blow(3)
    leader.kill()
    storm.blow(3)

    storm.check()


@pytest.mark.parametrize("debounce", ["0", "300ms"])
def test_two_that_act_at_once_do_no_harm(storm: Storm, controller: Start, debounce: str) -> None:
    """As two leaders do for a moment: the record in the patch decides who was first."""
    flags = ("--leader-election", "false", "--debounce", debounce)
    one, other = controller(*flags, wait="watching"), controller(*flags, wait="watching")
    storm.adopted()

    storm.blow(8)

    storm.check()
    assert not one.said("Rejected") + other.said("Rejected")


@pytest.mark.parametrize("kind", ["ConfigMap", "Secret"])
def test_one_that_missed_a_change_does_not_undo_the_others_roll(
    fault_proxy: FaultProxy, stage: Stage, controller: Start, reroll_kubeconfig: Path, kind: str
) -> None:
    """It hears of the new record while its watch of the source is dead and nobody knows it yet."""
    builder = {"ConfigMap": build.configmap, "Secret": build.secret}[kind]
    web = build.deployment("web", replicas=0, uses=f"{kind.lower()}/app", annotations=ENABLED)
    stage.make(builder("app"), web)
    flags = ("--leader-election", "false", "--debounce", "0")
    deaf = controller(*flags, kubeconfig=fault_proxy.kubeconfig(reroll_kubeconfig), wait="watching")
    stage.adopted(web)
    controller(*flags, wait="watching")
    sources = Match(path=f"/{kind.lower()}s$", watch=True, query=ALL_OF_THEM)

    with Templates(stage.api, stage.namespace, "Deployment") as templates:
        fault_proxy.inject(Silence(hold=True), sources)
        fault_proxy.wait_for("Silence", sources)
        changed = stage.change(kind, "app", key="new")
        stage.rolled(web, since=0)
        stage.quiet(web)
        fault_proxy.clear()
        stage.quiet(web)
        templates.check(web, [int(changed["metadata"]["resourceVersion"])])
    assert not deaf.said("ConfigChanged") + deaf.said("RolledElsewhere")


def test_a_leader_that_is_cut_off_and_comes_back_does_no_harm(
    fault_proxy: FaultProxy,
    storm: Storm,
    two: Callable[..., tuple[Controller, Controller]],
    reroll_kubeconfig: Path,
) -> None:
    kubeconfig = fault_proxy.kubeconfig(reroll_kubeconfig)
    leader, follower = two("--debounce", "0", "--watch-silence", "2s", first=kubeconfig)
    storm.adopted()

    storm.blow(1)
    fault_proxy.inject(Silence(), times=None)
    storm.blow(2)
    follower.wait_for(lambda line: line["msg"] == "leading")
    fault_proxy.clear()
    storm.blow(2)

    leader.wait_for(lambda line: line["msg"] == "no longer leading")
    storm.check()


def test_a_leader_that_was_frozen_and_thaws_does_no_harm(
    storm: Storm, two: Callable[..., tuple[Controller, Controller]]
) -> None:
    """It wakes in the belief that it leads, with decisions made on what it saw before."""
    leader, follower = two("--debounce", "300ms")
    storm.adopted()
    assert leader.process is not None

    storm.blow(1)
    leader.process.send_signal(signal.SIGSTOP)
    storm.blow(2)
    follower.wait_for(lambda line: line["msg"] == "leading")
    storm.blow(1)
    leader.process.send_signal(signal.SIGCONT)
    storm.blow(1)

    leader.wait_for(lambda line: line["msg"] == "no longer leading")
    storm.check()
    assert not leader.said("Rejected") + follower.said("Rejected")
    assert leader.stop() == follower.stop() == 0
