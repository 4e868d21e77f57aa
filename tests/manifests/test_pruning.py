"""What is forgotten changes nothing of what is written."""

import json

import pytest
from hypothesis import given
from tests.manifests.manifests import KEY, as_json, configmap, deployment, env_from, secret, stream
from tests.manifests.test_properties import FEW, documents

from reroll.core.tables.annotations import NAMES
from reroll.manifests.content_names import ContentNames
from reroll.manifests.editing import apply_edits
from reroll.manifests.model import Input
from reroll.manifests.options import Options
from reroll.manifests.pruning import may_request_names
from reroll.manifests.read import read
from reroll.manifests.render import checksum_edits
from reroll.manifests.text.compose import compose
from reroll.manifests.text.nodes import at
from reroll.manifests.text.scalars import value_of

WEB = deployment("web", env_from("ConfigMap", "app"), env_from("Secret", "db"))


def run(text: str, *, prune: bool) -> bytes:
    options = Options(key=KEY)
    manifests = read([Input("in", text.encode())], options, prune=prune)
    return apply_edits(
        manifests, checksum_edits(manifests, options, {}, ContentNames({}, frozenset()))
    )


@FEW
@given(documents())
def test_the_output_is_the_same_as_with_everything_kept(parts: list[str]) -> None:
    text = "---\n".join(parts)
    assert run(text, prune=True) == run(text, prune=False)


def test_templates_in_lists_keep_what_their_checksums_need() -> None:
    listed = {"apiVersion": "v1", "kind": "List", "items": [configmap(), WEB, secret(), WEB]}
    for text in (stream(listed), as_json(listed)):
        assert run(text, prune=True) == run(text, prune=False)


def test_the_rest_is_forgotten() -> None:
    text = stream(configmap(), WEB)
    manifests = read([Input("in", text.encode())], Options(), prune=True)
    source, workload = manifests.objects
    assert at(source.node, ("data",)) is None
    assert at(workload.node, ("spec", "template", "spec", "containers")) is None


ESCAPED = {
    "plain": "reroll.dev/names: x",
    "JSON with an escaped slash": '{"reroll.dev\\/names": "x"}',
    "JSON with a code": '{"reroll.dev\\u002Fnames": "x"}',
    "YAML with codes": '"\\x72eroll\\U0000002edev\\/name\\u0073": x',
    "over two lines": '? "reroll.dev/\\\n   na\\\n  mes"\n: x',
    "a block": "? >-\n  reroll.dev/names\n: x",
}


@pytest.mark.parametrize("text", ESCAPED.values(), ids=ESCAPED)
def test_a_request_for_a_name_is_noticed_in_every_spelling(text: str) -> None:
    (document,) = compose(text)
    assert value_of(document.root).keys() == {NAMES}, "what the parser makes of it"
    assert may_request_names(text)
    manifest = configmap(annotations={"reroll.dev/name": "x", "eroll.dev/names": json.dumps("\\")})
    assert not may_request_names(stream(manifest))
