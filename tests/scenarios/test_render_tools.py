"""`reroll render` in the tools that people have, each of them the real one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.scenarios.stage import Stage, program_on_the_path
from tests.support import build
from tests.support.command import reroll
from tests.support.tools import Grants, Tool

from reroll import __version__
from reroll.core.revisions.content_names import claimed, proved
from reroll.manifests.checksums import NO_DATA
from reroll_dev.api import Api
from reroll_dev.cluster import DevCluster

CHART = Path(__file__).parent / "chart"
PLUGIN = Path(__file__).parents[2] / "integrations" / "helm"
WEB = build.deployment("shop")
CHECKSUM = "checksum.reroll.dev/config"


@pytest.fixture(autouse=True)
def on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program `reroll`, where tools look for it."""
    program_on_the_path(tmp_path, monkeypatch)


def sets(**values: str) -> list[str]:
    return [part for key, value in values.items() for part in ("--set-string", f"{key}={value}")]


def checksum(text: str) -> str:
    (web,) = (one for one in yaml.safe_load_all(text) if one and one["kind"] == "Deployment")
    found: str = web["spec"]["template"]["metadata"]["annotations"][CHECKSUM]
    return found


# Helm


def post_renderer(*flags: str) -> list[str]:
    args = [part for flag in flags for part in ("--post-renderer-args", flag)]
    return ["--post-renderer", "reroll", "--post-renderer-args", "render", *args]


class Release:
    """A release of the chart that goes through the post-renderer."""

    def __init__(self, stage: Stage, helm: Tool, *flags: str) -> None:
        self._stage, self._helm = stage, helm
        self._flags = [*post_renderer(*flags), "--namespace", stage.namespace]
        helm("install", "shop", CHART, *self._flags)

    def upgrade(self, **values: str) -> int:
        """How many revisions there are afterwards."""
        self._helm("upgrade", "shop", CHART, *sets(**values), *self._flags)
        self._stage.settled(WEB)
        return len(self._stage.revisions(WEB))


def test_a_helm_upgrade_rolls_exactly_when_data_changed(stage: Stage, helm: Tool) -> None:
    release = Release(stage, helm)

    assert release.upgrade() == 1
    assert release.upgrade(labels="other") == 1
    assert release.upgrade(greeting="good day") == 2
    assert release.upgrade(greeting="good day", password="correct horse") == 3
    assert release.upgrade(greeting="good day", password="correct horse") == 3
    # Back at the first content it is back at the first ReplicaSet.
    assert release.upgrade() == 3


def configs(stage: Stage) -> set[str]:
    listed = stage.api.list(f"/api/v1/namespaces/{stage.namespace}/configmaps")
    return {one["metadata"]["name"] for one in listed} - {"kube-root-ca.crt"}


@pytest.fixture
def account(cluster: DevCluster, api: Api, namespace: str, tmp_path: Path) -> Callable[[str], Path]:
    """`account("name")`: a kubeconfig of a service account of the test's namespace."""
    return Grants(cluster, api, namespace, tmp_path).login


def test_a_helm_upgrade_leaves_old_pods_their_old_config(
    stage: Stage, helm: Tool, kubectl: Tool, account: Callable[[str], Path]
) -> None:
    release = Release(stage, helm, "--names", f"--namespace={stage.namespace}", "--with-attach-job")
    (first,) = configs(stage)

    assert release.upgrade(greeting="good day") == 2
    assert len(configs(stage)) == 2
    assert release.upgrade(greeting="good day", tag="2") == 3
    assert len(configs(stage)) == 2

    # What the attach Job does, with its rights: no pod of the development cluster runs a program.
    (job,) = stage.api.list(f"/apis/batch/v1/namespaces/{stage.namespace}/jobs")
    pod = job["spec"]["template"]["spec"]
    identity = account(pod["serviceAccountName"])
    done = reroll(*pod["containers"][0]["args"], "--kubeconfig", identity)
    assert (done.code, done.err) == (0, "")
    # Three revisions use the Secret of this deploy, and two its ConfigMap.
    assert done.out.count("attached") == 5

    kubectl("rollout", "undo", "deployment/shop", "--to-revision=1", "-n", stage.namespace)
    stage.settled(WEB)
    assert first in str(stage.template(WEB))


def test_what_cannot_be_rendered_stops_helm(helm: Tool) -> None:
    with pytest.raises(AssertionError, match="is not the name of an annotation"):
        helm("template", CHART, *post_renderer("--annotation=a b"), identity=None)


def test_helm_4_calls_it_as_a_plugin(stage: Stage, helm4: Tool) -> None:
    if "reroll" not in helm4("plugin", "list", identity=None):
        helm4("plugin", "install", PLUGIN, identity=None)
    flags = ["--post-renderer", "reroll", "--namespace", stage.namespace]

    rendered = helm4("template", CHART, *flags, identity=None)
    assert checksum(rendered) != NO_DATA
    helm4("install", "shop", CHART, *flags)
    stage.settled(WEB)
    for values, revisions in (({}, 1), ({"labels": "other"}, 1), ({"greeting": "good day"}, 2)):
        helm4("upgrade", "shop", CHART, *sets(**values), *flags)
        stage.settled(WEB)
        assert len(stage.revisions(WEB)) == revisions


def test_the_plugin_has_the_version_of_the_program() -> None:
    assert yaml.safe_load((PLUGIN / "plugin.yaml").read_text())["version"] == __version__


# kustomize and kpt


FUNCTION = """
exec:
  path: reroll
  args: [render]
"""
AS_CONFIGMAP: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "data": {}}
AS_RENDER: dict[str, Any] = {"apiVersion": "reroll.dev/v1alpha1", "kind": "Render", "spec": {}}
BUILD = ("build", "--enable-alpha-plugins", "--enable-exec")


@pytest.fixture
def overlay(tmp_path: Path, kustomize: Tool) -> Callable[..., str]:
    """`overlay(config, greeting="bye")`: what kustomize builds with us as a transformer."""
    folder = tmp_path / "overlay"
    folder.mkdir()

    def build_(config: dict[str, Any], **values: str) -> str:
        web = build.deployment("web", uses=["configmap/app", "configmap/generated", "secret/db"])
        sources = [build.configmap("app", {"greeting": "hello", **values}), build.secret()]
        (folder / "web.yaml").write_text(yaml.safe_dump_all([*sources, web]))
        meta = {"name": "reroll", "annotations": {"config.kubernetes.io/function": FUNCTION}}
        (folder / "reroll.yaml").write_text(yaml.safe_dump({**config, "metadata": meta}))
        kustomization = {
            "resources": ["web.yaml"],
            "configMapGenerator": [{"name": "generated", "literals": ["a=b"]}],
            "transformers": ["reroll.yaml"],
        }
        (folder / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
        return kustomize(*BUILD, folder, identity=None)

    return build_


@pytest.mark.parametrize("config", [AS_CONFIGMAP, AS_RENDER], ids=["ConfigMap", "Render"])
def test_kustomize_calls_it_as_a_transformer(
    overlay: Callable[..., str], config: dict[str, Any]
) -> None:
    before = checksum(overlay(config))

    assert checksum(overlay(config)) == before
    assert checksum(overlay(config, greeting="bye")) != before


def claimed_by(source: dict[str, Any]) -> tuple[str, str]:
    """Who named a source, and what it is a content of."""
    meta = source["metadata"]
    claim = claimed(meta["name"], meta.get("labels", {}), meta.get("annotations", {}))
    assert claim is not None
    assert proved(claim, source)
    return claim.scheme.value, claim.plain


def test_a_function_config_says_what_flags_say(overlay: Callable[..., str]) -> None:
    spec = {"names": True, "annotation": "example.com/sum"}
    built = list(yaml.safe_load_all(overlay({**AS_RENDER, "spec": spec})))

    plain = {claimed_by(one) for one in built if one["kind"] != "Deployment"}
    assert plain == {("reroll", "app"), ("reroll", "db"), ("kustomize", "generated")}
    (web,) = (one for one in built if one["kind"] == "Deployment")
    used = {
        next(iter(one.values()))["name"]
        for one in web["spec"]["template"]["spec"]["containers"][0]["envFrom"]
    }
    assert used == {one["metadata"]["name"] for one in built if one is not web}


def test_what_cannot_be_rendered_stops_kustomize(
    overlay: Callable[..., str],
) -> None:
    with pytest.raises(AssertionError, match="there is no 'nmaes'"):
        overlay({**AS_RENDER, "spec": {"nmaes": True}})
    with pytest.raises(AssertionError, match="neither"):
        overlay({**AS_CONFIGMAP, "data": {"strict": "perhaps"}})


def test_a_ResourceList_stays_one_byte_for_byte_elsewhere() -> None:  # noqa: N802
    """As kpt sends it: the config of its pipeline as a ConfigMap, comments and paths kept."""
    items = [build.configmap(), build.deployment(uses=["configmap/app"])]
    stream = {
        "apiVersion": "config.kubernetes.io/v1",
        "kind": "ResourceList",
        "items": items,
        "functionConfig": {**AS_CONFIGMAP, "data": {"annotation": "example.com/sum"}},
    }
    text = "# a comment\n" + yaml.safe_dump(stream)

    done = reroll("render", input=text)

    assert done.code == 0
    added = [line for line in done.out.splitlines() if line not in text.splitlines()]
    assert [line.strip().partition(" ")[0] for line in added] == [
        "annotations:",
        "example.com/sum:",
    ]
    assert reroll("render", input=done.out).out == done.out


BAD_LISTS: dict[str, tuple[str, dict[str, Any]]] = {
    "two sources of one name": (
        "is there twice",
        {"items": [build.configmap(), build.configmap()]},
    ),
    "an unknown option": ("there is no", {"functionConfig": {**AS_RENDER, "spec": {"x": 1}}}),
    "a config of another kind": ("not one of ours", {"functionConfig": {"kind": "Pod"}}),
    "a config that is no object": ("has to be an object", {"functionConfig": "names"}),
    "a value that is none": (
        "is not one of",
        {"functionConfig": {**AS_RENDER, "spec": {"hash": "x"}}},
    ),
}


@pytest.mark.parametrize(("sentence", "fields"), BAD_LISTS.values(), ids=BAD_LISTS.keys())
def test_a_failure_is_in_the_results(sentence: str, fields: dict[str, Any]) -> None:
    stream = {
        "apiVersion": "config.kubernetes.io/v1",
        "kind": "ResourceList",
        "items": [],
        **fields,
    }

    done = reroll("render", input=yaml.safe_dump(stream))

    assert done.code == 2
    assert sentence in done.err
    (result,) = done.json["results"]
    assert result["severity"] == "error"
    assert sentence in result["message"]
