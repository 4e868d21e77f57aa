"""What is forgotten changes nothing of what is written."""

from hypothesis import given
from tests.manifests.manifests import KEY, as_json, configmap, deployment, env_from, secret, stream
from tests.manifests.test_properties import FEW, documents

from reroll.manifests.names import Naming
from reroll.manifests.read import Input, Reading, read
from reroll.manifests.render import Options, render
from reroll.manifests.text.nodes import at

WEB = deployment("web", env_from("ConfigMap", "app"), env_from("Secret", "db"))


def run(text: str, *, only_checksums: bool) -> bytes:
    reading = Reading(key=KEY, only_checksums=only_checksums)
    manifests = read([Input("in", text.encode())], reading)
    return render(manifests, Options(naming=Naming(keyed=True)))


@FEW
@given(documents())
def test_the_output_is_the_same_as_with_everything_kept(parts: list[str]) -> None:
    text = "---\n".join(parts)
    assert run(text, only_checksums=True) == run(text, only_checksums=False)


def test_templates_in_lists_keep_what_their_checksums_need() -> None:
    listed = {"apiVersion": "v1", "kind": "List", "items": [configmap(), WEB, secret(), WEB]}
    for text in (stream(listed), as_json(listed)):
        assert run(text, only_checksums=True) == run(text, only_checksums=False)


def test_the_rest_is_forgotten() -> None:
    text = stream(configmap(), WEB)
    manifests = read([Input("in", text.encode())], Reading(only_checksums=True))
    source, workload = manifests.objects
    assert at(source.place.node, ("data",)) is None
    assert at(workload.place.node, ("spec", "template", "spec", "containers")) is None
