"""`reroll doctor` on real installations: what is well, what is not, and what it may not see."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.scenarios.pins import Installation
from tests.scenarios.stage import ENABLED, Controller, Stage, Web, eventually
from tests.scenarios.test_refusals import rules
from tests.support import build
from tests.support.command import Finished, reroll
from tests.support.faultproxy import FaultProxy
from tests.support.faults import Answer, Match
from tests.support.terminal import in_terminal
from tests.support.tools import kubeconfig_of

from reroll import __version__
from reroll.cli.errors import Exit
from reroll.core.tables import rights
from reroll.core.tables.kinds import KINDS
from reroll.core.tables.rights import Rule
from reroll_dev.api import path_to
from reroll_dev.cluster import DevCluster

Start = Callable[..., Controller]
Grant = Callable[[list[Rule], str | None], Path]
Doctor = Callable[..., Finished]
INJECTIONS = ("--injections", "true")
READ_RELOADER = "--dialects=reroll,reloader"


@pytest.fixture
def doctor(cluster: DevCluster, namespace: str) -> Doctor:
    """`reroll doctor` on the installation in the test's namespace."""

    def run(*args: str | Path, identity: str | Path = "admin") -> Finished:
        where = ("-n", namespace, "--controller-namespace", namespace)
        login = ("--kubeconfig", kubeconfig_of(cluster, identity))
        return reroll("doctor", *where, *login, "-o", "json", *args)

    return run


def installed(account: str, **more: Any) -> build.Object:
    """The controller's Deployment, with pods that do nothing."""
    made = build.deployment("reroll", **more)
    spec = made["spec"]["template"]["spec"]
    spec["serviceAccountName"] = account
    spec["containers"][0] |= {"image": f"example.invalid/reroll:{__version__}", "args": ["run"]}
    return made


def told(done: Finished, level: str, check: str = "") -> list[str]:
    return [
        f"{one['sentence']}; {one['todo']}"
        for one in done.json["findings"]
        if one["level"] == level and check in {"", one["check"]}
    ]


def test_an_installation_that_is_well_has_no_problem(
    stage: Stage, controller: Start, kubeconfig_for: Grant, web: Web, doctor: Doctor
) -> None:
    kubeconfig = kubeconfig_for(rules(), None)
    stage.make(installed(kubeconfig.stem))
    stage.make(
        build.configmap("app"), app := build.deployment(uses="configmap/app", annotations=ENABLED)
    )
    running = controller(*web.flags, kubeconfig=kubeconfig)
    stage.adopted(app)
    stage.settled(installed(kubeconfig.stem))
    eventually(lambda: 'reroll_feature_up{feature="evict"}' in web.metrics(), "its own checkup")
    metrics = ("--metrics-url", f"http://{web.address}/metrics")

    done = doctor(*metrics)

    assert told(done, "problem") == []
    assert done.code == Exit.OK
    well = " ".join(told(done, "ok"))
    account = f"ServiceAccount {stage.namespace}/{kubeconfig.stem}"
    for sentence in (
        "Kubernetes is v1.",
        f"rolling: {account} has all",
        f"evict: {account} has all",
        "1 of 1 replicas are ready",
        "is held by",
        f"has version {__version__}, as this command does",
        "reroll-digest-key holds the key",
        "all watches are alive",
        "1 workload opted in",
    ):
        assert sentence in well
    up = {name: v for name, v in web.metrics().items() if name.startswith("reroll_feature_up")}
    assert set(up.values()) == {1.0}

    # The same as the controller itself, in whose pod it may run.
    own = doctor(*metrics, identity=kubeconfig)
    assert told(own, "problem") == []
    assert f"rolling: {account} has all" in " ".join(told(own, "ok"))

    # One that died does not renew its Lease, and one that is somewhere else tells no metrics.
    running.kill()
    dead = eventually(
        lambda: (found := doctor(*metrics)).code and told(found, "problem", "Lease") and found,
        "that nobody renews the Lease is told",
    )
    assert "who has not renewed it since" in told(dead, "problem", "Lease")[0]
    assert f"http://{web.address}/metrics tells no metrics" in told(dead, "problem", "metrics")[0]
    assert dead.code == Exit.UNWELL


def test_a_feature_that_lacks_a_right_is_off_and_told_and_the_rest_works(
    stage: Stage, controller: Start, kubeconfig_for: Grant, web: Web, doctor: Doctor
) -> None:
    unseen = (("list", "statefulsets"), ("watch", "statefulsets"))
    lacking = rules(("create", "pods/eviction"), *unseen)
    kubeconfig = kubeconfig_for(lacking, None)
    app = build.deployment(uses="configmap/app", annotations=ENABLED)
    stage.make(installed(kubeconfig.stem), build.configmap("app"), app)
    running = controller(*web.flags, kubeconfig=kubeconfig)
    number = stage.adopted(app)["n"]

    lease = {"kind": "Lease", "metadata": {"name": "reroll"}}
    events = eventually(
        lambda: len(found := stage.events(lease, "FeatureOff")) == 3 and found,
        "three Events on the Lease",
    )
    for feature in ("canary", "evict", "rolling"):
        assert any(f"{feature} is off" in one["message"] for one in events)
    assert events[0]["involvedObject"]["uid"]
    assert running.wait_for(lambda line: line["msg"] == "a feature is off")
    metrics = web.metrics()
    assert metrics['reroll_feature_up{feature="evict"}'] == 0
    assert metrics['reroll_feature_up{feature="trigger"}'] == 1
    assert metrics['reroll_watch_state{resource="statefulsets.apps",state="forbidden"}'] == 1
    done = doctor("--metrics-url", f"http://{web.address}/metrics")
    assert done.code == Exit.UNWELL
    rolling, *evicting = told(done, "problem", "rights")
    assert "may not list statefulsets.apps, watch statefulsets.apps in all namespaces" in rolling
    assert len(evicting) == 2
    for one in evicting:
        assert "may not create pods/eviction in all namespaces; grant it" in one
    said = " ".join(told(done, "problem", "metrics"))
    assert "may not watch statefulsets.apps" in said
    assert "evict is off" in said
    stage.change("ConfigMap", "app", key="new")
    stage.rolled(app, since=number)

    stage.api.patch(path_to("ClusterRole", kubeconfig.stem), {"rules": rules()})
    eventually(
        lambda: web.metrics()['reroll_feature_up{feature="evict"}'] == 1, "it is whole again"
    )


def test_an_api_that_is_not_served_switches_off_what_needs_it_and_no_more(
    stage: Stage, controller: Start, web: Web, fault_proxy: FaultProxy, reroll_kubeconfig: Path
) -> None:
    app = build.deployment(uses="configmap/app", annotations=ENABLED)
    stage.make(build.configmap("app"), app)
    fault_proxy.inject(Answer(404), Match(path="/apis/reroll.dev/"), times=None)
    controller(*web.flags, *INJECTIONS, kubeconfig=fault_proxy.kubeconfig(reroll_kubeconfig))
    number = stage.adopted(app)["n"]

    lease = {"kind": "Lease", "metadata": {"name": "reroll"}}
    [event] = eventually(lambda: stage.events(lease, "FeatureOff"), "an Event on the Lease")
    assert "lacks injections.reroll.dev, which is not served" in event["message"]
    up = {name: v for name, v in web.metrics().items() if name.startswith("reroll_feature_up")}
    assert [name for name, value in up.items() if not value] == [
        'reroll_feature_up{feature="injections"}'
    ]
    assert web.metrics()['reroll_watch_state{resource="injections.reroll.dev",state="absent"}']
    stage.change("ConfigMap", "app", key="new")
    stage.rolled(app, since=number)


@pytest.mark.parametrize("status", [200, 500])
def test_answers_about_rights_that_make_no_sense_disturb_nothing(
    stage: Stage,
    controller: Start,
    fault_proxy: FaultProxy,
    reroll_kubeconfig: Path,
    status: int,
) -> None:
    app = build.deployment(uses="configmap/app", annotations=ENABLED)
    stage.make(build.configmap("app"), app)
    fault_proxy.inject(Answer(status), Match(path="selfsubjectaccessreviews"))
    running = controller(kubeconfig=fault_proxy.kubeconfig(reroll_kubeconfig))
    number = stage.adopted(app)["n"]

    running.wait_for(lambda line: line["msg"] == "checkup")

    stage.change("ConfigMap", "app", key="new")
    stage.rolled(app, since=number)


def test_an_installation_for_one_namespace_needs_no_right_outside_of_it(
    stage: Stage, controller: Start, kubeconfig_for: Grant, doctor: Doctor, tmp_path: Path
) -> None:
    some = kubeconfig_for(rules(), stage.namespace)
    config = tmp_path / "reroll.yaml"
    config.write_text(f"namespaces: [{stage.namespace}]\n")
    stage.make(installed(some.stem))
    stage.settled(installed(some.stem))
    only = ("--namespaces", stage.namespace, "--namespace-selector", "")
    controller(*only, kubeconfig=some)

    for identity in ("admin", some):
        done = doctor("--config", config, identity=identity)
        assert told(done, "problem") == []
        assert any(one.startswith("rolling: ServiceAccount") for one in told(done, "ok", "rights"))
    elsewhere = doctor(identity=some)
    assert "in all namespaces" in told(elsewhere, "problem", "rights")[0]


def test_the_settings_are_those_of_the_installation(
    stage: Stage, kubeconfig_for: Grant, doctor: Doctor
) -> None:
    mine = [*rights.cluster(KINDS), *rights.own("other-key", "other")]
    account = kubeconfig_for(mine, None).stem
    made = installed(account, replicas=0)
    pod = made["spec"]["template"]["spec"]
    mounted = [{"name": "config", "mountPath": "/etc/reroll"}]
    pod["containers"][0] |= {"args": ["run", "--config=/etc/reroll/reroll.yaml"]}
    pod["containers"][0] |= {"volumeMounts": mounted}
    pod["volumes"] = [{"name": "config", "configMap": {"name": "reroll"}}]
    stage.make(made)

    assert "ConfigMap" in told(doctor(), "problem", "settings")[0]
    file = {"reroll.yaml": "lease: other\ndigest-key: other-key\n"}
    stage.make(build.configmap("reroll", file))
    done = doctor()
    assert told(done, "problem", "settings") == told(done, "problem", "rights") == []
    assert f"Secret {stage.namespace}/other-key" in told(done, "problem", "digest key")[0]
    assert f"Lease {stage.namespace}/other does not exist" in told(done, "note", "Lease")[0]
    stage.change("ConfigMap", "reroll", **{"reroll.yaml": "leese: other\n"})
    assert "there is no setting 'leese'" in told(doctor(), "problem", "settings")[0]


def test_where_nothing_is_installed_that_is_said(
    cluster: DevCluster, doctor: Doctor, namespace: str
) -> None:
    done = doctor()

    assert done.code == Exit.UNWELL
    [missing] = told(done, "problem", "Deployment")
    assert "there is no controller" in missing
    assert f"Lease {namespace}/reroll does not exist" in told(done, "note", "Lease")[0]
    assert "does not exist" in told(done, "note", "digest key")[0]
    assert "no metrics were looked at" in told(done, "note", "metrics")[0]
    where = ("-n", namespace, "--controller-namespace", namespace, "--kubeconfig")
    seen = in_terminal("doctor", "-q", *where, kubeconfig_of(cluster, "admin"), columns=70)
    assert seen.code == Exit.UNWELL
    assert seen.widest <= 70
    assert "there is no controller" in seen.text


def test_annotations_that_it_does_not_read_are_counted_and_said_to_be_left_alone(
    stage: Stage, doctor: Doctor
) -> None:
    reloader = build.deployment("reloader", replicas=1)
    reloader["spec"]["template"]["spec"]["containers"][0]["image"] = "stakater/reloader:v1.4.0"
    auto = {"reloader.stakater.com/auto": "true"}
    wave = {"wave.pusher.com/update-on-config-change": "true"}
    stage.make(
        installed("default"),
        reloader,
        build.deployment("web", annotations=auto),
        build.statefulset("db", annotations=auto),
        build.deployment("api", annotations=wave),
    )

    done = doctor()

    [other] = [one for one in told(done, "note", "other controllers") if stage.namespace in one]
    assert "is active beside Reroll, and its annotations are left to it" in other
    [left] = told(done, "note", "annotations")
    assert "2 workloads with annotations of Reloader are left to Reloader" in left
    [warning] = told(done, "warning", "annotations")
    assert "1 workload with annotations of Wave is rolled by nothing" in warning


def test_other_controllers_bad_annotations_and_other_versions_are_told(
    stage: Stage, doctor: Doctor
) -> None:
    reloader = build.deployment("reloader", replicas=1)
    reloader["spec"]["template"]["spec"]["containers"][0]["image"] = "stakater/reloader:v1.4.0"
    old = installed("default", labels={"app.kubernetes.io/version": "0.0.9"})
    old["spec"]["template"]["spec"]["containers"][0]["args"] = ["run", READ_RELOADER]
    bad = {**ENABLED, "reroll.dev/debounce": "soon"}
    stage.make(reloader, old, build.deployment("web", annotations=bad))

    done = doctor()

    [other] = [one for one in told(done, "warning", "other controllers") if stage.namespace in one]
    assert "is active beside Reroll" in other
    [annotation] = told(done, "warning", "annotations")
    assert "reroll.dev/debounce" in annotation
    versions = " ".join(told(done, "warning", "version"))
    assert f"has version 0.0.9, and this command {__version__}" in versions
    stage.settled(old)
    mixed = eventually(
        lambda: [one for one in told(doctor(), "warning", "version") if "several" in one],
        "the pod has another version than its Deployment says",
    )
    assert f"several versions run at once: 0.0.9, {__version__}" in mixed[0]


def test_policies_of_propagation_that_promise_too_much_are_told(
    stage: Stage, doctor: Doctor
) -> None:
    asks = {"reroll.dev/wave": "1", "reroll.dev/soak": "5m", "reroll.dev/deadline": "1m"}
    web = build.deployment("web", annotations={**ENABLED, **asks})
    out = build.deployment("out", annotations=asks)
    stage.make(installed("default"), web, out)

    done = doctor()

    [note] = told(done, "note", "propagation")
    assert f"reads the new content already: Deployment {stage.namespace}/web; set" in note
    [warning] = told(done, "warning", "propagation")
    assert f"Deployment {stage.namespace}/web (deadline 1m, soak 5m)" in warning


def test_pins_that_nobody_reads_are_a_problem_and_those_of_the_template_are_none(
    stage: Stage, controller: Start, installation: Installation, doctor: Doctor
) -> None:
    revised = {**ENABLED, "reroll.dev/revisions": "true"}
    web = build.deployment("web", uses="configmap/app", annotations=revised)
    named = {**revised, "reroll.dev/pin": "template"}
    other = build.deployment("other", uses="configmap/app", annotations=named)
    stage.make(build.configmap("app"), web, other)
    assert installation.install("--mode", "policy").code == Exit.OK
    controller()
    for one in (web, other):
        eventually(
            lambda one=one: (
                "reroll.dev/pins" in stage.template(one)["metadata"].get("annotations", ())
            ),
            "it is pinned",
        )

    assert told(doctor(), "ok", "pins") == [
        f"MutatingAdmissionPolicy {installation.name} rewrites the pods of pinned workloads; "
    ]
    installation.uninstall()
    [unread] = told(doctor(), "problem", "pins")
    assert f"nothing rewrites the pods of Deployment {stage.namespace}/web, which" in unread


def test_who_may_see_little_is_told_what_was_not_looked_at(
    kubeconfig_for: Grant, doctor: Doctor, stage: Stage
) -> None:
    stage.make(installed("reroll"))
    rule = {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["list"]}
    nobody = kubeconfig_for([rule], stage.namespace)

    done = doctor(identity=nobody)

    notes = " ".join(told(done, "note"))
    assert "may not ask about others; grant `create` on subjectaccessreviews" in notes
    assert "may not be read, which is as it should be" in notes
    assert "not looked at: statefulsets.apps in namespace" in notes
    assert "what rewrites pods was not looked at" in notes
    lines = reroll("doctor", "-q", "-n", stage.namespace, "--kubeconfig", nobody)
    assert lines.err == ""
    assert all(line.split(":")[0] != "ok" for line in lines.out.splitlines()[:-1])


def test_of_two_installations_it_looks_at_one_and_names_the_other(
    stage: Stage, another: Callable[..., Stage], cluster: DevCluster
) -> None:
    there = another()
    mine = installed("default", replicas=0)
    args = ["run", "--namespaces", stage.namespace, "--features", "reload"]
    mine["spec"]["template"]["spec"]["containers"][0]["args"] = args
    asks = {**ENABLED, "reroll.dev/revisions": "true"}
    stage.make(mine, build.configmap("app"), build.deployment("web", annotations=asks))
    there.make(installed("default"), build.deployment("web", annotations=ENABLED))
    there.settled(installed("default"))

    login = ("--kubeconfig", cluster.kubeconfig("admin"))
    done = reroll("doctor", "--controller-namespace", stage.namespace, *login, "-o", "json")

    lines = [f"{one['sentence']}" for one in done.json["findings"]]
    others = [line for line in lines if f"Deployment {there.namespace}/reroll" in line]
    assert len(others) == 1
    assert "other installation" in others[0]
    # It counts what the installation looks at, and says what is asked for and off.
    [off] = told(done, "warning", "annotations")
    assert "revisions is off in this installation" in off
    assert (
        len([line for line in lines if f"Deployment {stage.namespace}/reroll has version" in line])
        == 1
    )
    short = reroll("doctor", "--controller-namespace", stage.namespace, *login)
    assert len(short.out.splitlines()) < len(lines)
    assert "ok: API server: " in short.out
    assert len(reroll("doctor", "-v", "--controller-namespace", stage.namespace, *login).out) > len(
        short.out
    )


def test_who_has_a_pipelines_rights_gets_notes_and_no_problem(
    kubeconfig_for: Grant, stage: Stage
) -> None:
    rule = {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get", "list", "patch"]}
    pipeline = kubeconfig_for([rule], stage.namespace)

    done = reroll("doctor", "-n", stage.namespace, "--kubeconfig", pipeline, "-o", "json")

    assert told(done, "problem") == []
    assert done.code == Exit.OK
    assert "its service account is not known here" in " ".join(told(done, "note", "rights"))
    assert "may not be listed" in " ".join(told(done, "note", "Deployment"))


def test_an_api_server_that_is_down_is_a_finding(cluster: DevCluster, tmp_path: Path) -> None:
    text = cluster.kubeconfig("admin").read_text()
    down = tmp_path / "down.kubeconfig"
    down.write_text(re.sub(r"(server: https://[^:/]+):\d+", r"\1:1", text))

    done = reroll("doctor", "--kubeconfig", down, "-o", "json")

    assert done.code == Exit.UNWELL
    [problem] = told(done, "problem", "API server")
    assert "it does not answer this command" in problem


def test_an_installation_elsewhere_is_named_where_there_is_none(
    stage: Stage, another: Callable[..., Stage], cluster: DevCluster
) -> None:
    there = another()
    there.make(installed("default", replicas=0))

    login = ("--kubeconfig", cluster.kubeconfig("admin"), "-o", "json")
    done = reroll("doctor", "--controller-namespace", stage.namespace, *login)
    [missing] = told(done, "problem", "Deployment")

    assert f"there is no controller in namespace {stage.namespace}" in missing
    assert f"Deployment {there.namespace}/reroll" in missing
