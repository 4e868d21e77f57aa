"""Content-named configs: `app-5f9c2d1a7b` is one content of the ConfigMap `app`, and never changes.

Pure. Three tools make them, and each has its own proof that a name is one of its: we mark them,
kapp marks them, and kustomize does not, but its suffix can be computed again from the content.
A name that only looks like one proves nothing.
"""

import hashlib
import itertools
import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from reroll.core.tables.annotations import DOMAIN

COPY_OF = DOMAIN + "copy-of"
"""The label of a copy, see `core.pins`: it looks like a content-named config, and is none."""
CONTENT_OF = DOMAIN + "content-of"
"""The label with the plain name; the annotation with it too, where it is too long for a label."""

_SYNC, _COMPARE = "argocd.argoproj.io/sync-options", "argocd.argoproj.io/compare-options"
_OPTIONS = (_SYNC, _COMPARE)
"""Annotations that say several things, with commas between them."""
KEPT_BY_TOOLS = {
    "helm.sh/resource-policy": "keep",
    _SYNC: "Prune=false",
    _COMPARE: "IgnoreExtraneous",
    "kustomize.toolkit.fluxcd.io/prune": "disabled",
}
"""Annotations for a content-named config.

A deploy that does not have it any more must not delete it: pods of the revisions before use it. Nor
is Argo CD out of sync for that.
"""


def kept_by_tools(own: Mapping[str, str]) -> dict[str, str]:
    """Those to write on what has annotations of its own; a word of theirs about the same stays."""
    found = {}
    for name, value in KEPT_BY_TOOLS.items():
        options = [option.strip() for option in own.get(name, "").split(",")]
        if name not in own:
            found[name] = value
        elif name in _OPTIONS and _about(value) not in map(_about, options):
            found[name] = ",".join([*filter(None, options), value])
    return found


def _about(option: str) -> str:
    return option.partition("=")[0]


KUSTOMIZE_WILL = "internal.config.kubernetes.io/needsHashSuffix"
"""The annotation of what kustomize's generators made and will name after its transformers ran."""

ATTACHING = {"app.kubernetes.io/name": "reroll", "app.kubernetes.io/component": "attach"}
"""Labels of the Job that runs `reroll attach` and of its pods: they name configs and use none."""

KAPP_VERSIONED = "kapp.k14s.io/versioned"
LONGEST_LABEL = 63
LONGEST_NAME = 253
_SUFFIX = len("-5f9c2d1a7b")
_KAPP = re.compile(r"(?P<plain>.+)-ver-[0-9]+")
_KUSTOMIZE = re.compile(r"(?P<plain>.+)-(?P<hash>[2456789bcdfghkmt]{10})")
_ALPHABET = str.maketrans("013ae", "ghkmt")
_LINE = 70
_HTML = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_ESCAPES = str.maketrans(_HTML)


class Scheme(StrEnum):
    """Whose way of naming."""

    REROLL = "reroll"
    KAPP = "kapp"
    KUSTOMIZE = "kustomize"


class Named(NamedTuple):
    """What a content-named config is a content of."""

    scheme: Scheme
    plain: str


def marks(plain: str, mark: str = CONTENT_OF) -> tuple[dict[str, str], dict[str, str]]:
    """The labels and annotations that say what a config is a content of."""
    if len(plain) <= LONGEST_LABEL:
        return {mark: plain}, {}
    short = hashlib.sha256(plain.encode()).hexdigest()[:10]
    head = plain[: LONGEST_LABEL - len(short) - 1].rstrip("-.")
    return {mark: f"{head}-{short}"}, {mark: plain}


def claimed(name: str, labels: Mapping[str, str], annotations: Mapping[str, str]) -> Named | None:
    """What a config says it is, by its marks or by its name; `proved` looks whether it is so."""
    if COPY_OF in labels:
        return None
    if plain := annotations.get(CONTENT_OF) or labels.get(CONTENT_OF):
        return Named(Scheme.REROLL, plain) if plain != name else None
    if KAPP_VERSIONED in annotations and (match := _KAPP.fullmatch(name)):
        return Named(Scheme.KAPP, match["plain"])
    if match := _KUSTOMIZE.fullmatch(name):
        return Named(Scheme.KUSTOMIZE, match["plain"])
    return None


def proved(claim: Named, document: Mapping[str, Any]) -> bool:
    """Whether `document`, as the API server shows it, is what it claims to be."""
    name: str = document["metadata"]["name"]
    match claim.scheme:
        case Scheme.REROLL:
            is_long = len(claim.plain) + _SUFFIX > LONGEST_NAME
            fits = is_long or name[:-_SUFFIX] == claim.plain
            return fits and name[-_SUFFIX] == "-" and document.get("immutable") is True
        case Scheme.KAPP:
            return True  # Nothing but kapp writes that annotation to such a name.
        case Scheme.KUSTOMIZE:
            return any(
                name == f"{claim.plain}-{kustomize_hash(one)}" for one in _as_written(document)
            )


def kustomize_hash(document: Mapping[str, Any]) -> str:
    """The suffix that kustomize gives a ConfigMap or Secret with the fields of this manifest."""
    import json

    more = "stringData" if document["kind"] == "Secret" else "binaryData"
    # The name is always empty there: what is looked up is one field called "metadata/name".
    content = {"kind": document["kind"], "name": "", "data": document.get("data", "")}
    if document["kind"] == "Secret":
        content["type"] = document.get("type", "")
    if isinstance(document.get(more), Mapping):
        content[more] = document[more]
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    digest = hashlib.sha256(text.translate(_ESCAPES).encode()).hexdigest()
    return digest[:10].translate(_ALPHABET)


def _as_written(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The manifests that may have become this object: the API server forgets how they were put.

    It drops what is empty, fills in the type, and kustomize breaks long base64 into lines.
    """
    encoded = "data" if document["kind"] == "Secret" else "binaryData"
    contents = [document["data"]] if document.get("data") else ["", {}]
    types = [document.get("type", ""), *([""] if document.get("type") == "Opaque" else ())]
    for data, type_, broken in itertools.product(contents, types, (True, False)):
        written = {**document, "data": data, "type": type_}
        if broken and isinstance(written.get(encoded), Mapping):
            written[encoded] = {key: _in_lines(value) for key, value in written[encoded].items()}
        yield written


def _in_lines(value: str) -> str:
    """Base64 as kustomize's generators write it."""
    plain = value.replace("\n", "")
    if len(plain) < _LINE:
        return plain
    return "".join(plain[i : i + _LINE] + "\n" for i in range(0, len(plain), _LINE))
