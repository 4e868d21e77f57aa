"""`render` as a KRM function: a ResourceList in, a ResourceList out.

kustomize and kpt call it. Its `functionConfig` says what flags say on a command line: in the `data`
of a ConfigMap, or in the `spec` of a `Render`. Failures are in the `results` of the list that comes
out.
"""

import re
from collections.abc import Callable
from typing import Any

import msgspec

from reroll.manifests.model import BadInputError, Input
from reroll.manifests.options import Hash, Options
from reroll.manifests.read import decoded
from reroll.manifests.text.compose import compose
from reroll.manifests.text.errors import TextError
from reroll.manifests.text.nodes import Node, at, text_at
from reroll.manifests.text.scalars import value_of

KIND = "Render"
GROUP = "reroll.dev"
_CAMEL = r"(?<=[a-z])([A-Z])"


def _boolean(value: Any) -> bool:
    known = {"true": True, "false": False}.get(str(value).lower())
    if known is None:
        raise ValueError('is neither "true" nor "false"')
    return known


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("is not text; put it in quotes")  # noqa: TRY004  shown to people
    return value


def _hash(value: Any) -> Hash:
    if value not in [*Hash]:
        raise ValueError(f"is not one of {', '.join(Hash)}")
    return Hash(value)


OPTIONS: dict[str, Callable[[Any], Any]] = {
    "annotation": _text,
    "per-source": _boolean,
    "names": _boolean,
    "all-names": _boolean,
    "hash": _hash,
    "namespace": _text,
    "strict": _boolean,
}
"""The flags that a function config can set."""


def resource_list(given: Input) -> Node | None:
    """The ResourceList, if that is the input: then a tool calls us as a function."""
    try:
        document = next(compose(decoded(given)), None)
        is_list = document and text_at(document.root, ("kind",)) == "ResourceList"
    except (TextError, BadInputError):
        return None
    return document.root if document and is_list else None


def configured(options: Options, root: Node) -> Options:
    """The options with what the function config of a ResourceList says."""
    if options.attach_image:
        raise BadInputError("--with-attach-job adds to a stream, not to a ResourceList")
    try:
        node = at(root, ("functionConfig",))
        config = value_of(node) if node is not None else None
    except TextError as error:
        raise BadInputError(f"functionConfig: {error}") from None
    values = {}
    for name, value in _settings(config or {}).items():
        flag = re.sub(_CAMEL, r"-\1", str(name)).lower()
        if flag not in OPTIONS:
            known = ", ".join(OPTIONS)
            raise BadInputError(f"functionConfig: there is no {name!r}; use {known}")
        try:
            values[flag.replace("-", "_")] = OPTIONS[flag](value)
        except ValueError as error:
            raise BadInputError(f"functionConfig: {name}: {value!r} {error}") from None
    if values.get("all_names"):
        values["names"] = True
    return msgspec.structs.replace(options, **values)


def _settings(config: Any) -> dict[str, Any]:
    if not isinstance(config, dict):
        raise BadInputError("functionConfig has to be an object")
    kind, group = config.get("kind"), str(config.get("apiVersion", "")).rpartition("/")[0]
    field = {("ConfigMap", ""): "data", (KIND, GROUP): "spec"}.get((str(kind), group))
    if config and field is None:
        raise BadInputError(
            f"functionConfig: {kind} of {group or 'v1'!r} is not one of ours; use a ConfigMap with "
            f"`data`, or a {KIND} of {GROUP}/v1alpha1 with `spec`"
        )
    settings = config.get(field) or {} if field else {}
    if not isinstance(settings, dict):
        raise BadInputError(f"functionConfig: `{field}` has to be a mapping")
    return settings


def failure(message: str) -> bytes:
    """The ResourceList for a failure: a result for each problem."""
    lines = [line.strip() for line in message.splitlines()]
    problems = lines[1:] if len(lines) > 1 else lines
    results = [{"message": line, "severity": "error"} for line in problems]
    failed = {
        "apiVersion": "config.kubernetes.io/v1",
        "kind": "ResourceList",
        "items": [],
        "results": results,
    }
    return msgspec.json.format(msgspec.json.encode(failed), indent=2) + b"\n"
