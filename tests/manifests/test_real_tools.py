"""What kustomize, kubectl and the API server make of the same manifests."""

import base64
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from tests.manifests.manifests import (
    checksum,
    configmap,
    deployment,
    env_from,
    objects,
    rendered,
    secret,
    stream,
)
from tests.scenarios.stage import program_on_the_path
from tests.support import build
from tests.support.command import reroll
from tests.support.tools import Tool

from reroll.cli.errors import Exit
from reroll.manifests.options import Hash
from reroll.manifests.text.compose import compose
from reroll.manifests.text.scalars import value_of
from reroll_dev.api import Api, path_to

VALUES = ["a=1", "b=two words", "html=<&>", "empty=", "long=" + "x" * 300, "utf8=Ærø 🚢", "c=yes"]
GENERATORS = {
    "configMapGenerator": [
        {"name": "app", "literals": VALUES},
        {"name": "binary", "files": ["blob"]},
        {"name": "nothing", "literals": []},
        {"name": "one", "literals": ["port=8080"]},
    ],
    "secretGenerator": [
        {"name": "db", "literals": VALUES},
        {"name": "tls", "type": "kubernetes.io/tls", "files": ["blob"]},
    ],
}


def test_the_suffixes_are_kustomizes_own(tmp_path: Path, kustomize: Tool) -> None:
    (tmp_path / "blob").write_bytes(bytes(range(256)))

    def build(*, named: bool) -> str:
        options = {"generatorOptions": {"disableNameSuffixHash": not named}}
        (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump({**GENERATORS, **options}))
        return kustomize("build", str(tmp_path), identity=None)

    theirs = [each["metadata"]["name"] for each in objects(build(named=True))]
    made = rendered(build(named=False), names=True, all_names=True, hash=Hash.KUSTOMIZE)
    ours = [each["metadata"]["name"] for each in objects(made)]
    assert len(theirs) == 6
    assert sorted(ours) == sorted(theirs)


def test_what_kustomize_has_named_already_keeps_its_name(tmp_path: Path, kustomize: Tool) -> None:
    (tmp_path / "blob").write_bytes(b"\xff\0")
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(GENERATORS))
    built = kustomize("build", str(tmp_path), identity=None)
    assert rendered(built, names=True) == built


AFFIXES = {
    "a prefix": {"namePrefix": "prod-"},
    "a suffix": {"nameSuffix": "-v2"},
    "a namespace": {"namespace": "shop"},
    "all of them": {"namePrefix": "prod-", "nameSuffix": "-v2", "namespace": "shop"},
}


@pytest.mark.parametrize("below", [{}, {"namePrefix": "base-"}], ids=["plain", "prefixed"])
@pytest.mark.parametrize("names", [False, True], ids=["checksums", "names"])
@pytest.mark.parametrize("affixes", AFFIXES.values(), ids=AFFIXES)
def test_a_function_of_kustomize_knows_sources_by_their_names_of_before(
    affixes: dict[str, str],
    names: bool,
    below: dict[str, str],
    tmp_path: Path,
    kustomize: Tool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Over two layers; what comes out is what a pipe makes of the same build."""
    program_on_the_path(tmp_path, monkeypatch)
    base, top = tmp_path / "base", tmp_path / "top"
    web = deployment("web", env_from("ConfigMap", "app"), env_from("Secret", "db"))
    web["spec"]["template"]["spec"]["containers"][0]["image"] = "web"
    function = {"apiVersion": "reroll.dev/v1alpha1", "kind": "Render"}
    function["spec"] = {"strict": True, "names": names}
    config = "exec:\n  path: reroll\n  args: [render]\n"
    notes = {"config.kubernetes.io/function": config}
    function["metadata"] = {"name": "reroll", "annotations": notes}
    files = {
        base / "all.yaml": stream(configmap(), secret(), web),
        base / "kustomization.yaml": stream({"resources": ["all.yaml"], **below}),
        top / "reroll.yaml": stream(function),
        tmp_path / "plain" / "kustomization.yaml": stream({"resources": ["../base"], **affixes}),
    }
    files[top / "kustomization.yaml"] = stream(
        {"resources": ["../base"], **affixes, "transformers": ["reroll.yaml"]}
    )
    for path, text in files.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    inside = kustomize("build", "--enable-alpha-plugins", "--enable-exec", str(top), identity=None)

    plain = kustomize("build", str(tmp_path / "plain"), identity=None)
    piped = rendered(plain, key=None, names=names)
    assert checksum(inside) == checksum(piped)
    assert (checksum(inside) is None) == names
    contents = [each["metadata"]["name"] for each in objects(inside) if "data" in each]
    assert contents == [each["metadata"]["name"] for each in objects(piped) if "data" in each]
    assert all(name in str(objects(inside)[-1]) for name in contents), "every reference is right"


SCALARS = """
yes No on OFF y n Y N true True TRUE tRUE null ~ Null 0 00 017 08 0o17 0x1F 0b11 0b12 -0b1 +5 -7
1_000 1e3 1.5 .5 5. -.5e-3 1e400 .inf -.INF .nan .NaN +.inf 12e03 0x 0xg 1__0 _1 190:20:30 1:2
2001-01-01 2001-1-1 2001-12-14t21:59:43.10-05:00 0.1.2 1.2.3 abc ... 9223372036854775808
18446744073709551616 1e1000000 <<x =  nul trueish 0777 0888 0_7 123456789012345678901234567890
""".split()  # noqa: SIM905  a list of them would be three times as long


def test_every_scalar_means_what_kubectl_makes_of_it(kubectl: Tool) -> None:
    """Numbers that JSON does not have are left out; kubectl refuses those."""
    unknown = {"inf", "nan", ""}
    texts = [t for t in dict.fromkeys(SCALARS) if t.lstrip("+-.").lower() not in unknown]
    lines = "".join(f"- {text}\n" for text in texts)
    manifest = f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\nvalues:\n{lines}"
    argv = ("create", "--dry-run=client", "--validate=false", "-o", "json", "-f", "-")
    answer = kubectl(*argv, input=manifest)
    (document,) = compose(manifest)
    ours = value_of(document.root)["values"]
    theirs = json.loads(answer)["values"]
    for text, our, their in zip(texts, ours, theirs, strict=True):
        if isinstance(our, float) or (isinstance(our, int) and abs(our) >= 2**63):
            assert float(their) == pytest.approx(float(our)), text
        else:
            assert (our, type(our)) == (their, type(their)), text


def test_every_key_is_what_the_api_server_gets(kubectl: Tool) -> None:
    texts = "yes n 017 08 0x1F 1.50 1e3 1e6 1234567.0 0.00001 1_001 2001-01-01 1.10 -5 3.0".split()  # noqa: SIM905
    data = "".join(f"  {text}: '{number}'\n" for number, text in enumerate(texts))
    manifest = f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\ndata:\n{data}"
    found = json.loads(
        kubectl("create", "--dry-run=client", "-o", "json", "-f", "-", input=manifest)
    )
    (document,) = compose(manifest)
    assert value_of(document.root)["data"] == found["data"]


def test_what_was_applied_plain_can_be_applied_rendered(kubectl: Tool, namespace: str) -> None:
    """Jobs and Pods too, which the API server lets nobody change."""
    uses = ["configmap/app"]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "shell"}}
    pod["spec"] = build.pod_template("shell", uses=uses)["spec"]
    workloads = build.deployment(uses=uses), build.job("busy", uses=uses), build.job("idle"), pod

    def applied(value: str, render: Callable[[str], str]) -> str:
        text = stream(build.configmap(data={"a": value}), *workloads)
        return kubectl("apply", "-n", namespace, "-f", "-", input=render(text))

    applied("1", str)
    for value, names in (("2", False), ("3", True)):
        words = applied(value, lambda text, names=names: rendered(text, names=names)).splitlines()
        assert "deployment.apps/web configured" in words
        assert {"job.batch/busy unchanged", "job.batch/idle unchanged"} <= {*words}
        assert "pod/shell unchanged" in words


def test_live_reads_what_is_not_in_the_stream(
    api: Api, namespace: str, kubeconfig_for: Callable[..., Path]
) -> None:
    """And nothing else: the right to get these two is enough."""
    rules = [{"apiGroups": [""], "resources": ["configmaps", "secrets"], "verbs": ["get"]}]
    rules[0]["resourceNames"] = ["app", "db", "missing"]
    config = kubeconfig_for(rules, namespace)
    sources = configmap(namespace=namespace), secret(namespace=namespace)
    for each in sources:
        api.create(each)
    uses = env_from("ConfigMap", "app"), env_from("Secret", "db"), env_from("ConfigMap", "missing")
    web = deployment("web", *uses, namespace=namespace)
    argv = ("render", "--live", "--kubeconfig", config)

    alone = reroll(*argv, input=stream(web))
    assert (alone.code, alone.err) == (Exit.OK, "")
    assert checksum(alone.out) == checksum(rendered(stream(*sources, web), key=None))

    strict = reroll(*argv, "--strict", input=stream(web))
    assert (strict.code, strict.out) == (Exit.USAGE, "")
    assert f"refers to ConfigMap {namespace}/missing, which nothing here defines" in strict.err

    api.delete(path_to("Secret", "db", namespace))
    assert checksum(reroll(*argv, input=stream(web)).out) != checksum(alone.out)

    more = deployment("web", env_from("Secret", "other"), namespace=namespace)
    other = reroll(*argv, input=stream(more))
    assert (other.code, other.out) == (Exit.FAILED, "")
    assert "grant `get`, or render without --live" in other.err


def test_live_without_a_namespace_looks_where_the_context_points(
    api: Api, namespace: str, kubeconfig_for: Callable[..., Path]
) -> None:
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}]
    config = kubeconfig_for(rules, namespace)
    document = yaml.safe_load(config.read_text())
    document["contexts"][0]["context"]["namespace"] = namespace
    config.write_text(yaml.safe_dump(document))
    binary = base64.b64encode(b"\xff").decode()
    api.create(configmap(namespace=namespace, binaryData={"b": binary}))
    web = stream(deployment("web", env_from("ConfigMap", "app")))
    found = reroll("render", "--live", "--kubeconfig", config, input=web)
    wanted = rendered(stream(configmap(binaryData={"b": binary})) + "---\n" + web)
    assert checksum(found.out) == checksum(wanted)
