"""The controller with the service account and the roles of the chart, and nothing else.

Everything it can do is done once: it is refused nothing, and no right that it has is left unused.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.chart.rendered import granted, values_file
from tests.scenarios import injecting
from tests.scenarios.csi import Driver, volume
from tests.scenarios.injecting import WRITES
from tests.scenarios.listener import ADDRESS, Listener
from tests.scenarios.reloads import AUTO
from tests.scenarios.revised import pins
from tests.scenarios.stage import ENABLED, Controller, Stage, Web, a, eventually
from tests.support import build
from tests.support.chart import CHART
from tests.support.command import Finished, reroll
from tests.support.crds import targets
from tests.support.faultproxy import FaultProxy
from tests.support.faults import Answer, Match
from tests.support.tools import Grants, Tool

from reroll.core.tables import rights
from reroll.core.tables.kinds import KINDS, Kind, Strategy
from reroll.features.injection import crd
from reroll_dev.api import Api, path_of, path_to
from reroll_dev.cluster import DevCluster

Start = Callable[..., Controller]
Calls = list[dict[str, Any]]
RELEASE = "reroll"
WAVE = {"wave.pusher.com/update-on-config-change": "true"}
STRATEGIES = ("evict", "reload", "trigger", "recreate")
LONG = {"dev.reroll.dev/complete-after": "1h", "dev.reroll.dev/address": ADDRESS}
NO_STREAMING_LISTS = Match(watch=True, query="sendInitialEvents")


@dataclass
class Installed:
    """A release of the chart, and what its service account may do and did."""

    api: Api
    home: str
    kubeconfig: Path
    config: Path
    audit: Callable[[Path], Calls]

    @property
    def flags(self) -> tuple[str, ...]:
        return ("--config", str(self.config))

    def await_right(self, group: str, resource: str, verb: str) -> None:
        """What an aggregated role grants comes a moment after the roles that it is made of."""
        user = f"system:serviceaccount:{self.home}:{RELEASE}"
        attributes = {"group": group, "resource": resource, "verb": verb}
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {"user": user, "resourceAttributes": attributes},
        }
        path = path_to("SubjectAccessReview", version="authorization.k8s.io/v1")
        eventually(lambda: self.api.post(path, review)["status"]["allowed"], f"it may {verb}")

    def refused(self) -> list[str]:
        return [
            f"{call['verb']} {call['requestURI']}"
            for call in self.audit(self.kubeconfig)
            if call.get("responseStatus", {}).get("code") in {401, 403}
        ]

    def doctor(self) -> Finished:
        """What `helm test` asks."""
        where = ("--kubeconfig", self.kubeconfig, "--controller-namespace", self.home)
        return reroll("doctor", *where, *self.flags, "-o", "json")

    def lacking(self) -> list[dict[str, Any]]:
        """What the doctor says of its rights that is not well."""
        found = [one for one in self.doctor().json["findings"] if one["check"] == "rights"]
        assert found
        return [one for one in found if one["level"] not in {"ok", "note"}]

    def unused(self) -> set[tuple[str, str, str, str]]:
        """What it was granted and never did, as group, resource, name and verb."""
        used = {one for call in self.audit(self.kubeconfig) for one in _done(call)}
        return {one for role in self._roles() for one in granted(role["rules"])} - used

    def _roles(self) -> list[dict[str, Any]]:
        selector = f"app.kubernetes.io/instance={RELEASE}"
        name = path_to("ClusterRole", f"{RELEASE}-{self.home}")
        return [
            self.api.get(name),
            *self.api.list(path_to("Role", "", self.home), labelSelector=selector),
        ]


def _done(call: dict[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """With the name of the object and without: a role may be for one or for all."""
    what = call.get("objectRef", {})
    resource = "/".join(part for part in (what.get("resource"), what.get("subresource")) if part)
    for name in {what.get("name", ""), ""}:
        yield what.get("apiGroup", ""), resource, name, call["verb"]


@pytest.fixture
def install(
    api: Api,
    cluster: DevCluster,
    namespace: str,
    helm: Tool,
    audit: Callable[[Path], Calls],
    tmp_path: Path,
) -> Iterator[Callable[[dict[str, Any]], Installed]]:
    """`install({"features": …})`: a release in the test's namespace, which the test runs itself."""

    def run(values: dict[str, Any]) -> Installed:
        # Pods of the development cluster run no program.
        file = values_file(tmp_path, {"replicas": 0, **values})
        helm("install", RELEASE, CHART, "--namespace", namespace, "--values", file)
        content = api.get(path_to("ConfigMap", RELEASE, namespace))["data"]["reroll.yaml"]
        config = tmp_path / "reroll.yaml"
        # Other tests run beside this one: probes are at a free port.
        config.write_text(content.replace("probes: :8081", "probes: 127.0.0.1:0"))
        login = Grants(cluster, api, namespace, tmp_path).login(RELEASE)
        return Installed(api, namespace, login, config, audit)

    yield run
    helm("uninstall", RELEASE, "--namespace", namespace, "--ignore-not-found")


def workloads(kind: Kind, listener: Listener) -> Iterator[build.Object]:
    """One of that kind for each thing that can be done to it."""
    for strategy in kind.strategies:
        name = f"{kind.name}-{strategy}".lower()
        asked = {**ENABLED, "reroll.dev/strategy": strategy.value}
        if strategy is Strategy.RELOAD:
            asked["reroll.dev/reload-port"] = str(listener.port)
            asked["reroll.dev/reload-again"] = "0s"
        if strategy is Strategy.NEXT_RUN:
            asked = ENABLED
        used = "mounts" if strategy is Strategy.RELOAD else "uses"
        sources = {used: ["configmap/app", "secret/db"]}
        yield a(kind, name, annotations=asked, template_annotations=LONG, **sources)


@pytest.fixture
def everything(rollouts: DevCluster, driver: Driver, stage: Stage, listener: Listener) -> Calls:
    """Workloads of every kind for every strategy, and of every kind of source."""
    driver.install()
    driver.has(stage, "vault")
    driver.mounts(stage, "pod", password="1")
    mounted = {"volumes": [volume()], "volume_mounts": [{"name": "v", "mountPath": "/v"}]}
    globs = {**ENABLED, "reroll.dev/sources": "configmap/glob-*, secret/glob-*"}
    made = [
        *(one for kind in KINDS for one in workloads(kind, listener)),
        build.deployment("mounts", replicas=0, annotations=AUTO, **mounted),
        build.deployment("globs", replicas=0, annotations=globs, uses="configmap/app"),
        build.deployment("wave", replicas=0, annotations=WAVE, uses="configmap/app"),
    ]
    stage.make(build.configmap("app"), build.secret("db"), *made)
    return made


BOTH = {"reloader": True, "wave": True}


def is_done(stage: Stage, workload: build.Object, since: int) -> bool:
    record = stage.record(workload)
    return bool(record.get("rolled")) and record["n"] > since and "todo" not in record


def test_nothing_is_refused_and_no_right_is_left_unused(
    install: Callable[..., Installed],
    everything: list[build.Object],
    stage: Stage,
    controller: Start,
    driver: Driver,
    fault_proxy: FaultProxy,
) -> None:
    installed = install({"features": dict.fromkeys(STRATEGIES, True), "dialects": BOTH})
    # As an older API server does, so that lists are made as well.
    fault_proxy.inject(Answer(422), NO_STREAMING_LISTS, times=None)
    running = controller(*installed.flags, kubeconfig=fault_proxy.kubeconfig(installed.kubeconfig))
    numbers = [stage.adopted(one)["n"] for one in everything]

    stage.change("ConfigMap", "app", key="new")
    driver.mounts(stage, "pod", password="2")

    for one, number in zip(everything, numbers, strict=True):
        name = one["metadata"]["name"]
        eventually(lambda one=one, n=number: is_done(stage, one, n), f"{name} is done", 60)
    eventually(lambda: stage.events(everything[0], "ConfigChanged"), "an Event tells of it")
    assert running.stop() == 0  # With its end it writes the backup of the records.
    assert installed.refused() == []
    assert installed.unused() == set()


OTHERS = {
    "features": {"reload": False, "revisions": True, "injections": True},
    "crds": {"install": False},
    "settings": {"exclude-kinds": [k.name for k in KINDS if k.name not in {"CronJob", "Job"}]},
}
"""Features that are no strategies, and a kind or two to show them with."""
REVISED = {**ENABLED, "reroll.dev/revisions": "true"}
PINNED = {**REVISED, "reroll.dev/pin": "template"}


@pytest.fixture
def writable(api: Api, namespace: str) -> Iterator[None]:
    """Whoever wants an Injection for a kind grants it by a role with the label."""
    label = {"rbac.reroll.dev/aggregate-to-injection": "true"}
    rule = {"apiGroups": ["example.com"], "resources": ["gadgets"], "verbs": WRITES}
    role = {"metadata": {"name": f"gadgets-{namespace}", "labels": label}, "rules": [rule]}
    kind = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
    api.create({**kind, **role})
    yield
    api.delete(path_of({**kind, **role}))


@pytest.mark.slow
def test_features_that_are_no_strategies_have_the_rights_they_use(
    install: Callable[..., Installed],
    writable: None,
    stage: Stage,
    controller: Start,
    api: Api,
    fault_proxy: FaultProxy,
) -> None:
    injecting.install(api, targets.GADGET, crd.manifest())
    selector = {"matchLabels": {"kubernetes.io/metadata.name": stage.namespace}}
    installed = install({**OTHERS, "pins": {"mode": "webhook", "namespaceSelector": selector}})
    installed.await_right("example.com", "gadgets", "patch")
    task = build.cronjob(annotations=PINNED, uses=["configmap/app", "secret/db"])
    goal = injecting.gadget()
    into = injecting.injection(
        "i", injecting.source("db", "password"), goal, "spec.token", deletionPolicy="Remove"
    )
    other = build.cronjob("other", annotations=REVISED, uses="configmap/app")
    stage.make(build.configmap("app"), build.secret("db"), task, other, goal, into)
    fault_proxy.inject(Answer(422), NO_STREAMING_LISTS, times=None)
    webhook = Web()
    flags = (*installed.flags, "--webhook", webhook.address)
    login = fault_proxy.kubeconfig(installed.kubeconfig)

    one = controller(*flags, "--webhook-names", "localhost", kubeconfig=login)
    first = eventually(lambda: len(pins(stage, task)) == 2 and pins(stage, task), "it is pinned")
    eventually(lambda: stage.get(goal)["spec"].get("token"), "the key is in its target")
    stage.change("ConfigMap", "app", key="new")
    stage.change("Secret", "db", password="new")
    eventually(lambda: set(first.values()).isdisjoint(pins(stage, task).values()), "pinned anew")
    # A spoilt copy goes, and the right one comes.
    for (kind, source), name in first.items():
        stage.api.delete(path_to(kind, name, stage.namespace), missing_ok=True)
        metadata = {"name": name, "labels": {"reroll.dev/copy-of": source}}
        stage.make({"apiVersion": "v1", "kind": kind, "metadata": metadata})
    stage.change("ConfigMap", "app", key="value")
    stage.change("Secret", "db", password="hunter2")
    eventually(lambda: pins(stage, task) == first, "it is pinned as before")
    stage.api.delete(stage.path(into))
    stage.api.wait_gone(stage.path(into))
    # Another name is on another certificate.
    assert one.stop() == 0
    controller(*flags, "--webhook-names", "127.0.0.1", kubeconfig=login)

    usual = granted([*rights.cluster(KINDS), *rights.own(f"{RELEASE}-digest-key", RELEASE)])
    assert installed.unused() - usual == set()
    assert installed.refused() == []
    assert installed.lacking() == []


def test_roles_in_one_namespace_are_enough_for_it_and_workloads_stay_when_they_go(
    install: Callable[..., Installed], stage: Stage, controller: Start, helm: Tool
) -> None:
    installed = install({"replicas": 2, "settings": {"namespaces": [stage.namespace]}})
    web = build.deployment(uses=["configmap/app", "secret/db"], annotations=ENABLED)
    stage.make(build.configmap("app"), build.secret("db"), web)
    only = ("--namespaces", stage.namespace, "--namespace-selector", "")
    running = controller(*installed.flags, *only, kubeconfig=installed.kubeconfig)
    number = stage.adopted(web)["n"]

    stage.change("Secret", "db", password="new")

    stage.rolled(web, since=number)
    assert installed.refused() == []
    done = installed.doctor()
    assert done.code == 0, done.out
    stage.settled(web)
    before, pods = stage.get(web), stage.pods(web)
    assert running.stop() == 0
    helm("uninstall", RELEASE, "--namespace", stage.namespace)
    after = stage.get(web)
    assert (after["spec"], _own_metadata(after)) == (before["spec"], _own_metadata(before))
    assert [pod["metadata"]["uid"] for pod in stage.pods(web)] == [
        pod["metadata"]["uid"] for pod in pods
    ]


def _own_metadata(workload: build.Object) -> dict[str, Any]:
    """Without what a status that its controller writes changes, too."""
    metadata: dict[str, Any] = workload["metadata"]
    return {k: v for k, v in metadata.items() if k not in {"resourceVersion", "managedFields"}}
