"""Manifests for these tests, and what of a stream to look at."""

import base64
import json
from collections.abc import Iterator
from typing import Any

import yaml

from reroll.manifests.model import Input
from reroll.manifests.options import ANNOTATION, Options
from reroll.manifests.render import render

KEY = b"0123456789abcdef"


def rendered(*texts: str, key: bytes | None = KEY, **options: Any) -> str:
    """The stream as `reroll render` writes it; with a key by default, which is faster."""
    inputs = [Input(f"{n}.yaml", text.encode()) for n, text in enumerate(texts, 1)]
    return render(inputs, Options(key=key, **options)).data.decode()


def stream(*objects: dict[str, Any]) -> str:
    return "---\n".join(yaml.safe_dump(each, sort_keys=False) for each in objects)


def objects(text: str) -> list[dict[str, Any]]:
    if text.startswith("{"):
        found = list(_json_objects(text))
    else:
        found = [each for each in yaml.load_all(text, yaml.CSafeLoader) if each]
    return [item for each in found for item in each.get("items", [each])]


def _json_objects(text: str) -> Iterator[dict[str, Any]]:
    while text := text.strip():
        found, end = json.JSONDecoder().raw_decode(text)
        yield found
        text = text[end:]


def pick(text: str, kind: str, name: str | None = None) -> dict[str, Any]:
    (found,) = (
        each
        for each in objects(text)
        if each["kind"] == kind and name in {None, each["metadata"].get("name")}
    )
    return found


def configmap(name: str = "app", data: Any = None, **more: Any) -> dict[str, Any]:
    return _object("v1", "ConfigMap", name, more, data={"a": "1"} if data is None else data)


def secret(name: str = "db", text: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    values = {k: base64.b64encode(v.encode()).decode() for k, v in (text or {"p": "1"}).items()}
    return _object("v1", "Secret", name, more, data=values)


def env_from(kind: str, name: str, *, optional: bool = False) -> dict[str, Any]:
    ref = {"name": name} | ({"optional": True} if optional else {})
    return {"configMapRef" if kind == "ConfigMap" else "secretRef": ref}


def deployment(name: str = "web", *uses: dict[str, Any], **more: Any) -> dict[str, Any]:
    spec = more.pop("pod", {"containers": [{"name": "c", "envFrom": list(uses)}]})
    return _object("apps/v1", "Deployment", name, more, spec={"template": {"spec": spec}})


def _object(
    version: str, kind: str, name: str, more: dict[str, Any], **body: Any
) -> dict[str, Any]:
    metadata = {"name": name} | {
        field: more.pop(field) for field in ("namespace", "labels", "annotations") if field in more
    }
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **body, **more}


def checksum(text: str, name: str | None = None, annotation: str = ANNOTATION) -> str | None:
    template = pick(text, "Deployment", name)["spec"]["template"]
    return (template.get("metadata") or {}).get("annotations", {}).get(annotation)


def as_json(*objects: dict[str, Any], **how: Any) -> str:
    return "\n".join(json.dumps(each, **how) for each in objects)
