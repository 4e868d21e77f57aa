"""What is found in a cluster of Reloader or Wave, from the objects as they are listed."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from tests.support import build
from tests.support.wave import DISABLED, IN, INVALID

from reroll.answers.controllers import ControllerContainer, Lease
from reroll.answers.migration.check import Candidate, Findings, findings
from reroll.answers.migration.controllers import controllers, tool_of
from reroll.answers.migration.differences import DIFFERENCES
from reroll.core.dialects.table import ALL
from reroll.core.model.metadata import Manifest
from reroll.core.observe.workload import workload
from reroll.core.tables.kinds import KINDS

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
KIND = {kind.name: kind for kind in KINDS}
AUTO = {"reloader.stakater.com/auto": "true"}
PAUSE = "deployment.reloader.stakater.com/pause-period"


def decoded(document: build.Object) -> Manifest:
    document["metadata"].setdefault("namespace", "shop")
    return msgspec.json.decode(json.dumps(document), type=Manifest)


def seen(document: build.Object, **namespace: str) -> Candidate:
    kind, manifest = KIND[document["kind"]], decoded(document)
    return Candidate(kind, manifest, workload(kind, manifest, None, words=ALL.words), namespace)


def running(image: str, *args: str, replicas: int = 1, name: str = "tool") -> build.Object:
    container = {"image": image, "args": list(args)}
    return build.deployment(name, replicas=replicas, container=container)


def found(*documents: build.Object, tools: tuple[build.Object, ...] = ()) -> Findings:
    listed = [(KIND["Deployment"], decoded(tool)) for tool in tools]
    return findings([seen(one) for one in documents], controllers(listed, (), NOW), ALL)


RELOADER = "ghcr.io/stakater/reloader:v1.4.21"
WAVE = "quay.io/wave-k8s/wave:v0.11.0"


# Whose controller it is


@pytest.mark.parametrize(
    ("image", "args", "name"),
    [
        (RELOADER, [], "reloader"),
        ("registry.local:5000/mirror/stakater/reloader@sha256:ab", [], "reloader"),
        (WAVE, [], "wave"),
        ("quay.io/pusher/wave", [], "wave"),
        ("registry.local/renamed:1", ["--auto-reload-all", "--log-format=json"], "reloader"),
        ("registry.local/renamed:1", ["--update-burst=3", "--leader-election"], "wave"),
        ("ghcr.io/external-secrets/reloader:v1", [], None),
        ("example.invalid/wave-autoscaler", ["--leader-election"], None),
        ("example.invalid/app", ["--log-level=debug", "--namespaces=a"], None),
        ("example.invalid/app", ["--auto-reload-all", "--another"], None),
        ("", [], None),
    ],
)
def test_a_controller_is_known_by_its_image_or_by_flags_that_only_it_has(
    image: str, args: list[str], name: str | None
) -> None:
    tool = tool_of(ControllerContainer("c", image, None, args))

    assert (tool.name if tool else None) == name


def test_what_a_controller_is_told_is_translated() -> None:
    tool = running(RELOADER, "--auto-reload-all", "--reload-strategy=annotations", "--odd")

    (one,) = found(tools=(tool,)).controllers

    assert one.translation is not None
    assert one.is_active
    assert one.translation.settings == {
        "dialects": ["reroll", "reloader"],
        "auto-all": True,
        "reloader-strategy": "annotations",
    }
    assert [line.given for line in one.translation.lines if "no such flag" in line.word] == [
        "--odd"
    ]


def test_environment_variables_of_a_controller_count_where_they_are_plain() -> None:
    env = [
        {"name": "KUBERNETES_NAMESPACE", "value": "shop"},
        {"name": "ALERT_WEBHOOK_URL", "valueFrom": {"secretKeyRef": {"name": "a", "key": "b"}}},
    ]
    tool = build.deployment("tool", container={"image": RELOADER, "env": env})

    (one,) = found(tools=(tool,)).controllers

    assert one.translation is not None
    assert one.translation.settings["namespaces"] == ["shop"]


def test_two_controllers_are_rivals_only_if_both_are_active() -> None:
    ours = build.deployment("reroll", container={"image": "ghcr.io/x/reroll:1", "args": ["run"]})

    assert [one.title for one in found(tools=(ours, running(WAVE))).rivals] == ["Wave"]
    assert found(tools=(ours, running(WAVE, replicas=0))).rivals == ()
    assert found(tools=(running(WAVE), running(RELOADER, name="other"))).rivals == ()


@pytest.mark.parametrize(("age", "expected"), [(5, ["Reroll"]), (60, [])])
def test_reroll_is_known_by_the_lease_that_it_renews(age: int, expected: list[str]) -> None:
    document = {
        "metadata": {"name": "x", "namespace": "ops", "managedFields": [{"manager": "reroll"}]},
        "spec": {
            "holderIdentity": "a",
            "leaseDurationSeconds": 15,
            "renewTime": (NOW - timedelta(seconds=age)).isoformat(),
        },
    }
    lease = msgspec.json.decode(json.dumps(document), type=Lease)

    assert [one.title for one in controllers((), (lease,), NOW)] == expected


# Who is in


def test_workloads_are_listed_with_what_opts_them_in() -> None:
    both = build.deployment("both", annotations={**AUTO, **IN})
    below = build.deployment("below", template_annotations=AUTO)
    nobody = build.deployment("nobody")

    members = found(both, below, nobody).members

    assert [(m.key.name, m.dialects) for m in members] == [
        ("both", ("reloader", "wave")),
        ("below", ("reloader",)),
    ]
    assert members[0].because == (
        "reloader.stakater.com/auto: true",
        "wave.pusher.com/update-on-config-change: true",
    )
    assert members[1].because == ("reloader.stakater.com/auto: true on the pod template",)


def test_a_reloader_that_handles_everybody_has_everybody_in() -> None:
    plain = build.deployment("plain")
    out = build.deployment("out", annotations={"reloader.stakater.com/auto": "false"})
    both = build.deployment("both", annotations=IN)
    never = build.deployment("never", annotations={"reroll.dev/enabled": "false"})

    tool = running(RELOADER, "--auto-reload-all")
    members = found(plain, out, both, never, tools=(tool,)).members

    assert [(m.key.name, m.dialects) for m in members] == [
        ("plain", ("reloader",)),
        ("both", ("reloader", "wave")),
    ]
    assert members[0].because == ("Reloader handles every workload",)


def test_jobs_of_cronjobs_are_not_told_apart_from_them() -> None:
    job = build.job("task", annotations=AUTO)
    job["metadata"]["ownerReferences"] = [
        {"apiVersion": "batch/v1", "kind": "CronJob", "name": "c", "controller": True}
    ]

    assert found(job).members == ()


def test_a_bad_annotation_is_told() -> None:
    (member,) = found(build.deployment("web", annotations={next(iter(IN)): "yes"})).members

    assert member.dialects == ()
    assert "'yes' is neither" in member.problems[0]


# What will be different


def csi() -> dict[str, Any]:
    attributes = {"secretProviderClass": "vault"}
    volume = {"driver": "secrets-store.csi.k8s.io", "volumeAttributes": attributes}
    return {
        "volumes": [{"name": "v", "csi": volume}],
        "volume_mounts": [{"name": "v", "mountPath": "/v"}],
    }


INIT = [{"name": "i", "image": "x", "envFrom": [{"secretRef": {"name": "only-init"}}]}]
UNMOUNTED = [{"name": "idle", "configMap": {"name": "app"}}]
RELOAD = "configmap.reloader.stakater.com/reload"


@pytest.mark.parametrize(
    ("document", "told"),
    [
        (build.deployment(annotations=IN, pod={"initContainers": INIT}), "(secret/only-init)"),
        (build.deployment(annotations=IN, **csi()), "overlooks CSI classes"),
        (build.deployment(annotations=IN, mounts="configmap/app#a"), "whatever its `items` say"),
        (build.deployment(annotations=IN, volumes=UNMOUNTED), "(volume idle)"),
        (
            build.deployment(annotations={**IN, "wave.pusher.com/extra-secrets": "ops/db,own"}),
            "`reroll.dev/allow-from` (ops/db)",
        ),
        (
            build.deployment(annotations={**IN, "wave.pusher.com/extra-configmaps": "a, b"}),
            "with a blank before its name; Reroll takes it (b)",
        ),
        (build.cronjob(annotations=IN), "Reroll handles every kind (CronJob)"),
        (build.rollout(annotations=AUTO), "only with `--is-Argo-Rollouts=true`"),
        (build.deployment(annotations=AUTO, **csi()), "`--enable-csi-integration`"),
        (build.deployment(annotations={RELOAD: "a|b"}), "matches whole names (a|b)"),
        (build.cronjob(annotations=AUTO, spec={"suspend": True}), "a suspended CronJob"),
        (build.job(annotations=AUTO), "runs finished Jobs again"),
        (build.statefulset(annotations={**AUTO, PAUSE: "5m"}), "for so long (5m)"),
    ],
)
def test_what_will_be_different_is_told_for_those_it_concerns(
    document: build.Object, told: str
) -> None:
    (member,) = found(document).members

    assert [change for change in member.changes if told in change]


def test_nothing_is_different_for_most() -> None:
    same = [
        build.deployment("a", annotations=IN, uses="configmap/app", mounts="secret/db"),
        build.statefulset("b", annotations=AUTO, uses="configmap/app"),
        build.deployment("c", annotations={**AUTO, PAUSE: "5m"}, mounts="configmap/app"),
    ]

    assert [member.changes for member in found(*same).members] == [(), (), ()]


def test_what_reloader_is_told_to_handle_is_not_different() -> None:
    tool = running(RELOADER, "--is-Argo-Rollouts=true", "--enable-csi-integration")

    (member,) = found(build.rollout(annotations=AUTO, **csi()), tools=(tool,)).members

    assert member.changes == ()


def test_every_difference_is_a_whole_sentence() -> None:
    for row in DIFFERENCES:
        assert row.sentence("Wave").count("; Reroll ") == 1
        assert not row.sentence("Wave").endswith(".")


# Who is stuck


def test_a_workload_with_waves_invalid_scheduler_is_stuck() -> None:
    left = build.deployment(annotations={DISABLED: ""}, pod={"schedulerName": INVALID})
    mended = build.deployment("mended", annotations={DISABLED: ""})

    (stuck,) = found(left, mended).stuck

    assert stuck.key.name == "web"
    assert "scheduler that does not exist" in stuck.why


def test_a_workload_with_the_finalizer_of_an_old_wave_cannot_be_deleted() -> None:
    old = build.deployment()
    old["metadata"]["finalizers"] = ["wave.pusher.com/finalizer"]

    (stuck,) = found(old).stuck

    assert "cannot be deleted; take it out of metadata.finalizers" in stuck.why


def test_a_deployment_that_reloader_paused_is_stuck_without_reloader() -> None:
    at = {"deployment.reloader.stakater.com/paused-at": "2026-03-01T11:00:00Z"}
    paused = build.deployment(annotations=at, spec={"paused": True})

    assert "not there to end that" in found(paused).stuck[0].why
    assert found(paused, tools=(running(RELOADER, replicas=0),)).stuck
    assert found(paused, tools=(running(RELOADER),)).stuck == ()
