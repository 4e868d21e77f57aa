"""Kinds of a config file: their pods get checksums, and the names in them follow."""

from pathlib import Path

import pytest
import yaml
from tests.manifests.manifests import configmap, pick, secret, stream
from tests.scenarios import custom
from tests.support.command import reroll

from reroll.cli.errors import Exit

CONFIG = """\
debounce: 5s
kinds:
- group: example.com
  kind: Machine
  template: spec.pod
  references:
  - {source: ConfigMap, path: "spec.files[].configMap"}
  - {source: Secret, path: spec.login.secretName}
"""

POD = {"spec": {"containers": [{"name": "c", "envFrom": [{"configMapRef": {"name": "app"}}]}]}}
MACHINE = {
    "apiVersion": "example.com/v1",
    "kind": "Machine",
    "metadata": {"name": "m"},
    "spec": {
        "pod": POD,
        "files": [{"configMap": "app"}, {"configMap": "other"}, {}],
        "login": {"secretName": "db"},
    },
}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config.yaml"
    path.write_text(CONFIG)
    return path


def test_a_pod_template_of_a_custom_kind_gets_a_checksum(config: Path) -> None:
    text = stream(configmap(), MACHINE)
    end = reroll("render", "--config", config, input=text)
    assert (end.code, end.err) == (Exit.OK, "")
    assert (
        "checksum.reroll.dev/config"
        in pick(end.out, "Machine")["spec"]["pod"]["metadata"]["annotations"]
    )
    assert reroll("render", input=text).out == text


def test_a_kind_without_a_pod_template_gets_its_checksum_where_its_operator_passes_it_on(
    tmp_path: Path,
) -> None:
    path = custom.config(tmp_path, custom.rows("prometheus-operator", "cloudnative-pg"))
    uses = {"secrets": ["db"], "configMaps": ["app"]}
    objects = [
        {"apiVersion": f"{group}/v1", "kind": kind, "metadata": {"name": "m"}, "spec": spec}
        for group, kind, spec in (
            ("monitoring.coreos.com", "Prometheus", uses),
            ("monitoring.coreos.com", "Alertmanager", {"secrets": ["unknown"]}),
            ("postgresql.cnpg.io", "Cluster", {"envFrom": [{"configMapRef": {"name": "app"}}]}),
        )
    ]

    end = reroll("render", "--config", path, input=stream(configmap(), secret(), *objects))

    assert (end.code, end.err) == (Exit.OK, "")
    written = pick(end.out, "Prometheus")["spec"].pop("podMetadata")["annotations"]
    assert written.keys() == {"checksum.reroll.dev/config"}
    assert pick(end.out, "Alertmanager") == objects[1]
    assert pick(end.out, "Cluster") == objects[2], "an annotation of its own restarts it"


def test_names_in_custom_kinds_follow_by_their_paths(config: Path) -> None:
    end = reroll(
        "render", "--names", "--config", config, input=stream(configmap(), secret(), MACHINE)
    )
    spec = pick(end.out, "Machine")["spec"]
    app = pick(end.out, "ConfigMap")["metadata"]["name"]
    assert spec["files"] == [{"configMap": app}, {"configMap": "other"}, {}]
    assert spec["login"]["secretName"] == pick(end.out, "Secret")["metadata"]["name"]
    (container,) = spec["pod"]["spec"]["containers"]
    assert container["envFrom"] == [{"configMapRef": {"name": app}}]
    again = reroll("render", "--names", "--config", config, input=end.out)
    assert again.out == end.out


def test_the_environment_can_name_the_file(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REROLL_CONFIG", str(config))
    assert "checksum.reroll.dev/config" in reroll("render", input=stream(configmap(), MACHINE)).out


@pytest.mark.parametrize(
    ("kinds", "sentence"),
    [
        ("Machine", "kinds: is not a list"),
        ([{"group": "x"}], "kinds[0]: kind is missing"),
        ([{"kind": "M", "place": "a"}], "kinds[0] (M): there is no field 'place'"),
        ([{"kind": "M", "template": "a..b"}], "'a..b' is not a path; write e.g. spec.files[*]"),
        (
            [{"kind": "M", "references": [{"source": "Pod", "path": "spec.a"}]}],
            "'Pod' is not a kind of source; use configmap, secret",
        ),
    ],
)
def test_a_bad_file_is_told(tmp_path: Path, kinds: object, sentence: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(yaml.safe_dump({"kinds": kinds}))
    end = reroll("render", "--config", path, input="")
    assert (end.code, end.out) == (Exit.USAGE, "")
    assert sentence in end.err
    assert f"config file {path}: " in end.err
