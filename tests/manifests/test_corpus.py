"""Every form of stream that was met, with a walk of its own over references as the oracle."""

import copy
import json
from typing import Any

import pytest
import yaml
from tests.manifests import corpus
from tests.manifests.corpus import Maker, Object, Stream
from tests.manifests.manifests import KEY

from reroll.manifests.checksums import NO_DATA
from reroll.manifests.model import Input
from reroll.manifests.options import ANNOTATION, Options
from reroll.manifests.render import render

SEEDS = range(50)
FIELDS = ("data", "stringData", "binaryData")


def run(text: str, **options: Any) -> str:
    return render([Input("in", text.encode())], Options(key=KEY, **options)).data.decode()


def parsed(text: str) -> list[Object]:
    found = [each for each in yaml.load_all(text, yaml.CSafeLoader) if each]
    flat = [item for each in found for item in each.get("items", [each])]
    return [each for each in flat if each["kind"] != "Service"]


def sums(text: str) -> list[str | None]:
    """The checksum of each workload, in order."""
    templates = [each for one in parsed(text) if (each := corpus.template(one)) is not None]
    notes = [((each.get("metadata") or {}).get("annotations") or {}) for each in templates]
    return [each.get(ANNOTATION) for each in notes]


def pod_of(workload: Object) -> Object:
    template = corpus.template(workload)
    assert template is not None
    return template["spec"]


def keys_of(source: Object) -> dict[str, str]:
    return {key: value for field in FIELDS for key, value in (source.get(field) or {}).items()}


def wanted(stream: Stream, workload: Object) -> str:
    """`nothing`, `empty` or `checksum`."""
    sources = stream.sources()
    there = {(s, key) for s, key in corpus.used(pod_of(workload)) if s in sources}
    if not there or not corpus.is_stamped(workload):
        return "nothing"
    has = any(keys_of(sources[s]) if k is None else k in keys_of(sources[s]) for s, k in there)
    return "checksum" if has else "empty"


@pytest.fixture(params=SEEDS)
def stream(request: pytest.FixtureRequest) -> Stream:
    return Maker(request.param).stream()


def test_every_form_is_among_the_streams() -> None:
    streams = [Maker(seed).stream() for seed in SEEDS]
    assert {each.style for each in streams} == {*corpus.STYLES}
    kinds = {(one["apiVersion"], one["kind"]) for each in streams for one in each.objects}
    others = {"Role", "RoleBinding", "Machine", "Pod", "Ingress", "StorageClass"}
    assert others <= {kind for _, kind in kinds}
    assert corpus.OLD in {version for version, _ in kinds}
    assert any(each.tail for each in streams)


def test_each_workload_gets_what_the_walk_expects(stream: Stream) -> None:
    text = stream.text()
    after = run(text)
    words = [
        "nothing" if each is None else "empty" if each == NO_DATA else "checksum"
        for each in sums(after)
    ]
    assert words == [wanted(stream, each) for each in stream.workloads()]
    assert bare(parsed(after)) == bare(parsed(text))
    assert run(after) == after


def test_exactly_the_users_of_a_key_change_with_it(stream: Stream) -> None:
    before = sums(run(stream.text()))
    for source, made in stream.sources().items():
        for key in sorted(keys_of(made))[:1]:
            changed = copy.deepcopy(stream)
            into = changed.sources()[source]
            field = next(
                f for f in ("data", "stringData", "binaryData") if key in (into.get(f) or {})
            )
            into[field][key] = "bmV3"
            after = sums(run(changed.text()))
            users = [
                corpus.is_stamped(each)
                and bool({(source, key), (source, None)} & corpus.used(pod_of(each)))
                for each in stream.workloads()
            ]
            differs = [was != is_ for was, is_ in zip(before, after, strict=True)]
            assert differs == users, (source, key)


def test_exactly_the_names_that_can_follow_are_new_and_every_reference_follows(
    stream: Stream,
) -> None:
    stream = stream.wishing()
    sources = stream.sources()
    usual = stream.referred() - stream.blocked
    renamed = {
        source
        for source, made in sources.items()
        if stream.wishes[source] == "always"
        or (not stream.wishes[source] and source in usual and any(keys_of(made).values()))
    }

    after = run(stream.text(), names=True)

    before = parsed(stream.text())
    new = {
        corpus.named(was): is_["metadata"]["name"]
        for was, is_ in zip(before, parsed(after), strict=True)
        if corpus.named(was) in sources
    }
    assert {source for source, name in new.items() if name != source[1]} == renamed
    for was, is_ in zip(before, parsed(after), strict=True):
        if was["apiVersion"] == corpus.OLD:
            continue  # What an annotation renames nevertheless it does not follow.
        expected = {(kind, new.get((kind, name), name)) for kind, name in corpus.referred(was)}
        assert corpus.referred(is_) == expected
    assert run(after, names=True) == after


def bare(value: Any) -> str:
    """Without checksums and without what is empty, as text."""

    def strip(each: Any) -> Any:
        if isinstance(each, dict):
            below = {key: strip(one) for key, one in each.items() if key != ANNOTATION}
            return {key: one for key, one in below.items() if one not in ({}, None)}
        return [strip(one) for one in each] if isinstance(each, list) else each

    return json.dumps(strip(value))
