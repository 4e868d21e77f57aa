"""Who has to own which content-named config, and what counts as naming one."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import build
from tests.support.steps import steps

from reroll.core.model.metadata import Manifest
from reroll.core.revisions.content_names import ATTACHING
from reroll.core.revisions.mentions import mentioned
from reroll.core.tables.kinds import KINDS
from reroll.core.tables.rights import attaching
from reroll.core.tables.source_kinds import SOURCE_KINDS
from reroll.kube.objects import OwnerRef, Revision
from reroll.pipeline.attach import Deployed, of_workload

ROWS = {kind.name: kind for kind in KINDS}
NAMES = frozenset({"app-5f9c2d1a7b", "db-77ff00aa11"})


def manifest(source: dict[str, Any], *, observed: object = 1) -> Manifest:
    meta = {**source["metadata"], "uid": "w", "generation": 1, "namespace": "shop"}
    document = {**source, "metadata": meta, "status": {"observedGeneration": observed}}
    return msgspec.json.decode(json.dumps(document), type=Manifest)


def replicaset(number: int, *, uid: str = "w", **template: Any) -> Revision:
    meta = {
        "name": f"web-{number}",
        "uid": f"rs-{number}",
        "annotations": {"deployment.kubernetes.io/revision": str(number)},
        "ownerReferences": [{"kind": "Deployment", "name": "web", "uid": uid}],
    }
    document = {"metadata": meta, "spec": {"template": build.pod_template("web", **template)}}
    return msgspec.json.decode(json.dumps(document), type=Revision)


def test_each_revision_owns_what_it_names() -> None:
    revisions = [
        replicaset(1, uses=["configmap/app-5f9c2d1a7b"]),
        replicaset(2, uses=["configmap/app-5f9c2d1a7b"], mounts=["secret/db-77ff00aa11"]),
        replicaset(3, uid="another"),
    ]
    own = of_workload("w", reversed(revisions))
    owners = Deployed(ROWS["Deployment"], manifest(build.deployment()), own).owners(NAMES)

    assert [(owner.name, name) for owner, name in owners] == [
        ("web-1", "app-5f9c2d1a7b"),
        ("web-2", "app-5f9c2d1a7b"),
        ("web-2", "db-77ff00aa11"),
    ]


@pytest.mark.parametrize("kind", ["Job", "CronJob"])
def test_a_kind_without_revisions_owns_its_configs_itself(kind: str) -> None:
    source = getattr(build, kind.lower())("task", uses=["configmap/app-5f9c2d1a7b"])
    deployed = Deployed(ROWS[kind], manifest(source, observed=0))

    itself = OwnerRef("batch/v1", kind, "task", "w")
    assert deployed.owners(NAMES) == [(itself, "app-5f9c2d1a7b")]
    assert deployed.is_ready


def test_a_job_of_a_cronjob_leaves_it_to_the_cronjob() -> None:
    source = build.job("task-1", uses=["configmap/app-5f9c2d1a7b"])
    source["metadata"]["ownerReferences"] = [
        {"apiVersion": "batch/v1", "kind": "CronJob", "uid": "c", "controller": True}
    ]

    assert Deployed(ROWS["Job"], manifest(source)).owners(NAMES) == []


def test_the_job_that_attaches_owns_nothing() -> None:
    source = build.job("attach", labels=ATTACHING, uses=["configmap/app-5f9c2d1a7b"])

    assert Deployed(ROWS["Job"], manifest(source)).owners(NAMES) == []


def test_a_controller_revision_has_its_template_elsewhere() -> None:
    template = build.pod_template("db", mounts=["secret/db-77ff00aa11"])
    document = {"metadata": {"name": "r"}, "revision": 4, "data": {"spec": {"template": template}}}
    one = msgspec.json.decode(json.dumps(document), type=Revision)

    assert one.number == 4
    assert one.mentions(NAMES) == {"db-77ff00aa11"}


@pytest.mark.parametrize(
    ("observed", "ready"), [(0, False), (1, True), ("1", True), ("", False), (None, False)]
)
def test_a_workload_is_ready_when_its_controller_saw_it(observed: object, ready: bool) -> None:
    seen = manifest(build.deployment(), observed=observed)

    assert Deployed(ROWS["Deployment"], seen, [replicaset(1)]).is_ready is ready
    assert not Deployed(ROWS["Deployment"], seen).is_ready


def test_a_paused_template_has_no_revision_yet() -> None:
    seen = manifest(build.deployment(uses=["configmap/app-5f9c2d1a7b"]))
    kind = ROWS["Deployment"]

    assert Deployed(kind, seen, [replicaset(1)]).lacks_revision(NAMES)
    current = replicaset(2, uses=["configmap/app-5f9c2d1a7b"])
    assert not Deployed(kind, seen, [replicaset(1), current]).lacks_revision(NAMES)


@given(st.text(), st.text(), st.sampled_from(' /=,:"\n\t\\<'))
def test_a_name_is_found_between_any_other_text(before: str, after: str, edge: str) -> None:
    text = f"{before}{edge}app-5f9c2d1a7b{edge}{after}"

    assert "app-5f9c2d1a7b" in mentioned(json.dumps({"args": [text]}).encode(), NAMES)


@pytest.mark.parametrize(
    "text",
    [
        "app-5f9c2d1a7b",
        "--from=shop/app-5f9c2d1a7b,x",
        "line\napp-5f9c2d1a7b\n",
        "tab\tapp-5f9c2d1a7b",
        "<app-5f9c2d1a7b>",
        "app-5f9c2d1a7b.yaml",
        "see app-5f9c2d1a7b.",
        '{"name":"app-5f9c2d1a7b"}',
    ],
)
def test_a_name_counts_wherever_it_stands(text: str) -> None:
    for ascii_only in (True, False):
        document = json.dumps({"any": {"field": text}}, ensure_ascii=ascii_only)
        assert mentioned(document.encode(), NAMES) == {"app-5f9c2d1a7b"}


@pytest.mark.parametrize("text", ["app", "app-5f9c2d1a7", "app-5f9c2d1a7b0", "my-app-5f9c2d1a7b"])
def test_another_name_does_not_count(text: str) -> None:
    assert mentioned(json.dumps({"name": text}).encode(), NAMES) == frozenset()


def test_the_rights_of_attach_name_what_they_are_for() -> None:
    configmap, secret, _ = SOURCE_KINDS
    rules = attaching(
        [(ROWS["Deployment"], "web"), (ROWS["CronJob"], "task")],
        [(secret, "db-77ff00aa11"), (configmap, "app-5f9c2d1a7b")],
    )

    assert [(rule["resources"], rule["verbs"], rule.get("resourceNames")) for rule in rules] == [
        (["cronjobs"], ["get"], ["task"]),
        (["deployments"], ["get"], ["web"]),
        (["replicasets"], ["list"], None),
        (["configmaps"], ["get", "patch"], ["app-5f9c2d1a7b"]),
        (["secrets"], ["get", "patch"], ["db-77ff00aa11"]),
    ]


# Long words


@pytest.mark.parametrize("tail", ["", ".yaml", ".a" * 1000])
def test_a_name_as_long_as_names_can_be_is_found_before_whatever_follows(tail: str) -> None:
    name = "a" * 242 + "-5f9c2d1a7b"

    assert mentioned(f'"{name}{tail}"'.encode(), frozenset({name})) == {name}


def test_a_long_word_is_no_more_work_than_a_name() -> None:
    """Whoever may annotate a workload may write one of 256 KiB."""

    def work(parts: int) -> int:
        return steps(lambda: mentioned(b"a." * parts + b"a", NAMES))

    assert work(1000) == work(100_000)
