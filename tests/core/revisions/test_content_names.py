"""Content-named configs: their marks, and the proof that a name is one of kustomize's."""

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.support import build
from tests.support.tools import Tool

from reroll.core.revisions.content_names import (
    CONTENT_OF,
    Named,
    Scheme,
    claimed,
    kustomize_hash,
    marks,
    proved,
)
from reroll.core.revisions.copies import copy_marks

LONG = "a-" + "very-" * 30 + "long-name"
KUSTOMIZATION = """
configMapGenerator:
- {name: plain, literals: [a=b, number=1, yes=true, empty=]}
- {name: text, files: [text]}
- {name: empty}
- {name: binary, files: [binary], literals: [x=y]}
secretGenerator:
- {name: login, literals: [password=hunter2]}
- {name: files, files: [binary, text]}
- {name: empty}
- {name: typed, type: example.com/login, literals: [k=v]}
"""


@pytest.fixture
def generated(kustomize: Tool, tmp_path: Path) -> list[dict[str, Any]]:
    """What kustomize makes of all that its generators can do."""
    (tmp_path / "kustomization.yaml").write_text(KUSTOMIZATION)
    (tmp_path / "text").write_text('<a> & "b"\t\\ \u2028 é 😀\n' * 5)
    (tmp_path / "binary").write_bytes(bytes(range(256)))
    return list(yaml.safe_load_all(kustomize("build", tmp_path, identity=None)))


def as_the_server_shows_it(manifest: dict[str, Any]) -> dict[str, Any]:
    """Empty maps are gone, base64 is one line."""
    shown = {key: value for key, value in manifest.items() if value != {}}
    encoded = "data" if manifest["kind"] == "Secret" else "binaryData"
    if encoded in shown:
        again = {k: base64.b64encode(base64.b64decode(v)) for k, v in shown[encoded].items()}
        shown[encoded] = {key: value.decode() for key, value in again.items()}
    return shown


def test_the_suffix_is_exactly_that_of_kustomize(generated: list[dict[str, Any]]) -> None:
    assert len(generated) == 8
    for manifest in generated:
        name = manifest["metadata"]["name"]
        assert name.endswith("-" + kustomize_hash(manifest)), name


def test_kustomize_names_are_proved_by_what_the_server_shows(
    generated: list[dict[str, Any]],
) -> None:
    for manifest in map(as_the_server_shows_it, generated):
        name = manifest["metadata"]["name"]
        claim = claimed(name, {}, {})
        assert claim == (Scheme.KUSTOMIZE, name[:-11])
        assert proved(claim, manifest), name
        assert not proved(claim, {**manifest, "data": {"other": "eA=="}}), name


def test_a_name_that_only_looks_like_kustomizes_is_not_proved() -> None:
    name = "backup-2456789bcd"
    claim = claimed(name, {}, {})

    assert claim == (Scheme.KUSTOMIZE, "backup")
    assert not proved(claim, build.configmap(name))


@pytest.mark.parametrize("name", ["app", "app-1a2b3c", "app-abcdefghij", "app-0123456789"])
def test_a_plain_name_claims_nothing(name: str) -> None:
    assert claimed(name, {}, {}) is None


@pytest.mark.parametrize("plain", ["app", "a.b-c", LONG])
def test_what_is_marked_is_recognised(plain: str) -> None:
    labels, annotations = marks(plain)
    claim = claimed(f"{plain}-5f9c2d1a7b", labels, annotations)

    assert claim == (Scheme.REROLL, plain)
    assert len(labels[CONTENT_OF]) <= 63
    assert labels[CONTENT_OF][-1].isalnum()


def test_a_plain_config_with_our_mark_is_not_content_named() -> None:
    assert claimed("app", marks("app")[0], {}) is None
    assert claimed("app-5f9c2d1a7b", {**marks("app")[0], **copy_marks("app")[0]}, {}) is None
    claim = Named(Scheme.REROLL, "app")
    assert not proved(claim, build.configmap("app-5f9c2d1a7b"))
    assert not proved(claim, build.configmap("app-copy", immutable=True))
    assert not proved(claim, build.configmap("other-5f9c2d1a7b", immutable=True))
    assert proved(claim, build.configmap("app-5f9c2d1a7b", immutable=True))


def test_two_long_names_have_two_labels() -> None:
    assert marks(LONG + "-1")[0] != marks(LONG + "-2")[0]


def test_kapp_names_need_kapps_mark() -> None:
    mark = {"kapp.k14s.io/versioned": ""}

    assert claimed("app-ver-12", {}, mark) == (Scheme.KAPP, "app")
    assert claimed("app-ver-12", {}, {}) is None
    assert claimed("app", {}, mark) is None  # the original beside its versions
