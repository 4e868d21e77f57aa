"""Properties of every stream.

Rendering twice is rendering once, the order of documents does not matter to checksums, and what is
not edited is the same to the byte.
"""

import json
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.manifests.golden import cases
from tests.manifests.manifests import KEY, configmap, deployment, env_from, secret

from reroll.manifests.content_names import content_names, naming_edits
from reroll.manifests.editing import apply_edits, put_value
from reroll.manifests.model import BadInputError, Edit, Input, Manifests
from reroll.manifests.options import Options
from reroll.manifests.read import MARK, read
from reroll.manifests.render import checksum_edits, render
from reroll.manifests.text.compose import Document, compose
from reroll.manifests.text.edits import apply_text_edits, put
from reroll.manifests.text.errors import TextError
from reroll.manifests.text.scalars import value_of

NAMES = st.sampled_from(["app", "db", "x1"])
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), max_size=12)
MULTILINE = st.lists(TEXTS, max_size=3).map("\n".join)
KEYS = st.sampled_from(["a", "b.txt", "true", "017", "1.5", "~", "C_D"])


@st.composite
def sources(draw: Any) -> dict[str, Any]:
    make = draw(st.sampled_from([configmap, secret]))
    # PyYAML writes some text without quotes that Kubernetes takes for a number, such as 0E0.
    values = draw(st.dictionaries(KEYS, MULTILINE.map("v{}".format), max_size=3))
    labels = draw(st.dictionaries(st.sampled_from(["l", "m"]), st.just("v"), max_size=2))
    return make(draw(NAMES), values, labels=labels)


@st.composite
def workloads(draw: Any) -> dict[str, Any]:
    kind = st.sampled_from(["ConfigMap", "Secret"])
    uses = draw(st.lists(st.builds(env_from, kind, NAMES), max_size=3))
    made = deployment(draw(st.sampled_from(["web", "api"])), *uses)
    metadata = draw(st.sampled_from([..., None, {}, {"labels": {"x": "y"}}]))
    if metadata is not ...:
        made["spec"]["template"]["metadata"] = metadata
        there = draw(
            st.sampled_from([..., None, {}, {"a": "b"}, {"checksum.reroll.dev/config": "old"}])
        )
        if metadata is not None and there is not ...:
            made["spec"]["template"]["metadata"] = {**metadata, "annotations": there}
    return made


def written(draw: Any, document: dict[str, Any]) -> str:
    """One document, in one of many styles."""
    style = draw(st.sampled_from(["block", "flow", "quoted", "wide", "json", "pretty", "crlf"]))
    wide = {"width": 1000, "sort_keys": False, "allow_unicode": True}
    match style:
        case "flow":
            return yaml.safe_dump(document, default_flow_style=True, **wide)
        case "quoted":
            return yaml.safe_dump(document, default_style='"', **wide)
        case "wide":
            return yaml.safe_dump(document, indent=6, **wide)
        case "json":
            return json.dumps(document) + "\n"
        case "pretty":
            return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    block = yaml.safe_dump(document, **wide)
    why = st.sampled_from(["", "", "  # why"])
    noted = "".join(f"{line}{draw(why)}\n" for line in block.removesuffix("\n").split("\n"))
    # A comment behind a text of several lines would be a part of it.
    block = noted if yaml.load(noted, yaml.CSafeLoader) == document else block
    return block.replace("\n", "\r\n") if style == "crlf" else block


@st.composite
def documents(draw: Any) -> list[str]:
    found = {(o["kind"], o["metadata"]["name"]): o for o in draw(st.lists(sources(), max_size=4))}
    work = {w["metadata"]["name"]: w for w in draw(st.lists(workloads(), min_size=1, max_size=2))}
    everything = draw(st.permutations([*found.values(), *work.values()]))
    if draw(st.booleans()):
        everything = [{"apiVersion": "v1", "kind": "List", "items": everything}]
    return [written(draw, each) for each in everything]


GOLDEN = [path.read_bytes().decode() for path in sorted({path for path, _ in cases()})]
SCRAPS = [
    *("&a ", "*a", "<<: *a", "{", "}", "[", "]", ": ", "- ", "\n", "  ", '"', "'", "|", ">", "#"),
    *("!!str ", "? ", "---\n", "...\n", "null", "~", "\t", "\r\n", "\u2028", "🚀", ", ", "{}"),
]


@st.composite
def damaged(draw: Any) -> str:
    """A manifest in which somebody typed, or of which they cut something out."""
    text = draw(st.sampled_from(GOLDEN))
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(text)))
        if draw(st.booleans()):
            text = text[:place] + draw(st.sampled_from(SCRAPS)) + text[place:]
        else:
            text = text[:place] + text[place + draw(st.integers(1, 12)) :]
    return text


def run(text: str, *, names: bool = False) -> str:
    return render([Input("in", text.encode())], Options(key=KEY, names=names)).data.decode()


def edits_of(text: str, *, names: bool) -> tuple[Manifests, list[Edit]]:
    options = Options(key=KEY, names=names)
    manifests = read([Input("in", text.encode())], options)
    given = content_names(manifests, options)
    renames = naming_edits(manifests, given)
    return manifests, [*renames, *checksum_edits(manifests, options, {}, given)]


FEW = settings(max_examples=50)


@FEW
@given(documents(), st.booleans())
def test_rendering_twice_is_rendering_once(parts: list[str], names: bool) -> None:
    once = run("---\n".join(parts), names=names)
    assert run(once, names=names) == once


@FEW
@given(documents(), st.randoms())
def test_the_order_of_documents_does_not_matter_to_checksums(parts: list[str], chance: Any) -> None:
    def sums(each: list[str]) -> dict[str, Any]:
        found = _meant(run("---\n".join(each)))
        return {
            o["metadata"]["name"]: o["spec"]["template"].get("metadata")
            for o in found
            if o["kind"] == "Deployment"
        }

    shuffled = list(parts)
    chance.shuffle(shuffled)
    assert sums(parts) == sums(shuffled)


@FEW
@given(documents(), st.booleans())
def test_without_the_edits_the_text_is_what_it_was(parts: list[str], names: bool) -> None:
    text = "---\n".join(parts)
    edits = {
        text_edit
        for edit in edits_of(text, names=names)[1]
        for text_edit in put(text, edit.object.document.root, edit.put)
    }
    after = run(text, names=names)
    assert after == apply_text_edits(text, edits)
    for edit in sorted(edits, reverse=True):
        moved = sum(len(e.text) - (e.end - e.start) for e in edits if e < edit)
        start = edit.start + moved
        assert after[start : start + len(edit.text)] == edit.text
        after = after[:start] + text[edit.start : edit.end] + after[start + len(edit.text) :]
    assert after == text


@FEW
@given(documents() | damaged().map(lambda text: [text]), st.booleans())
def test_the_text_afterwards_says_what_was_to_be_put_there(parts: list[str], names: bool) -> None:
    """Of every document; the code itself looks only at those with aliases."""
    text = "---\n".join(parts)
    try:
        manifests, edits = edits_of(text, names=names)
        after = apply_edits(manifests, edits).decode().removeprefix(MARK)
    except BadInputError:
        return
    wanted = {each.start: _value(each) for each in compose(manifests.texts[0])}
    for edit in edits:
        put_value(wanted[edit.object.document.start], edit.put)
    found = [_value(each) for each in compose(after)]
    assert _sorted(found) == _sorted(list(wanted.values()))


@FEW
@given(documents())
def test_only_the_annotations_of_templates_differ_in_what_it_means(parts: list[str]) -> None:
    text = "---\n".join(parts)

    before, after = (list(map(_without_sums, _meant(each))) for each in (text, run(text)))
    assert before == after


def _value(document: Document) -> Any:
    """What it says; of one that says something twice, and is no object of ours, nothing."""
    try:
        return value_of(document.root)
    except TextError:
        return None


def _meant(text: str) -> list[dict[str, Any]]:
    found = [value_of(document.root) for document in compose(text)]
    return [item for each in found for item in each.get("items", [each])]


def _sorted(value: Any) -> str:
    """As text, because what is not a number is not even itself."""
    return json.dumps(value, sort_keys=True)


def _without_sums(document: dict[str, Any]) -> dict[str, Any]:
    template = document.get("spec", {}).get("template")
    if template:
        metadata = template.pop("metadata", None) or {}
        annotations = metadata.pop("annotations", None) or {}
        annotations.pop("checksum.reroll.dev/config", None)
        template["metadata"] = {**metadata, "annotations": annotations}
    return document


TREES = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | MULTILINE,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=12,
)


@FEW
@given(st.dictionaries(TEXTS, TREES, min_size=1, max_size=3), st.sampled_from([None, True, False]))
def test_what_is_written_is_read_the_same(tree: dict[str, Any], flow: bool | None) -> None:
    """Quoted throughout, because readers of YAML differ about what is text without quotes."""
    text = yaml.safe_dump(tree, default_style='"', default_flow_style=flow, allow_unicode=True)
    (document,) = compose(text)
    assert value_of(document.root) == yaml.load(text, yaml.CSafeLoader)
    (document,) = compose(json.dumps(tree))
    assert value_of(document.root) == tree


@FEW
@given(damaged(), st.booleans())
def test_a_damaged_manifest_is_refused_or_rendered_well(text: str, names: bool) -> None:
    try:
        once = run(text, names=names)
    except BadInputError:
        return
    assert run(once, names=names) == once
    if not names:
        before, after = (repr(list(map(_bare, _meant(each)))) for each in (text, once))
        assert before == after


def _bare(value: Any) -> Any:
    """Without checksums, and without what is empty: they may have been put there."""
    if isinstance(value, dict):
        below = {k: _bare(each) for k, each in value.items() if k != "checksum.reroll.dev/config"}
        return {k: each for k, each in below.items() if each not in ({}, None)}
    return [_bare(each) for each in value] if isinstance(value, list) else value
