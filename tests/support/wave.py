"""What a cluster looks like to Wave: its hash, computed anew from the objects themselves.

Written from what Wave is documented to do, not with the code under test.
"""

import base64
import hashlib
import json
from typing import Any

from reroll_dev.api import Api, path_to

UPDATE = "wave.pusher.com/update-on-config-change"
HASH = "wave.pusher.com/config-hash"
DISABLED = "wave.pusher.com/scheduling-disabled"
INVALID = "wave.pusher.com/invalid"
IN = {UPDATE: "true"}

Wanted = list[tuple[str, str, set[str] | None]]


def expected_hash(api: Api, namespace: str, workload: dict[str, Any]) -> str:
    """The hash that Wave would write to this workload now."""
    spec = workload["spec"]["template"]["spec"]
    source: dict[str, dict[str, dict[str, str]]] = {"configMaps": {}, "secrets": {}}
    for kind, name, keys in _references(spec) + _extras(workload, namespace):
        place, _, plain = name.rpartition("/")
        values = _values(api, kind, place or namespace, plain)
        if values is not None:
            data = source[f"{kind[0].lower()}{kind[1:]}s"].setdefault(plain, {})
            data |= {k: v for k, v in values.items() if keys is None or k in keys}
    text = json.dumps(source, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _references(spec: dict[str, Any]) -> Wanted:
    found: Wanted = []
    for volume in spec.get("volumes", ()):
        if "configMap" in volume:
            found.append(("ConfigMap", volume["configMap"]["name"], None))
        if "secret" in volume:
            found.append(("Secret", volume["secret"]["secretName"], None))
        for part in volume.get("projected", {}).get("sources", ()):
            for kind, field in (("ConfigMap", "configMap"), ("Secret", "secret")):
                if field in part:
                    items = part[field].get("items")
                    keys = {item["key"] for item in items} if items else None
                    found.append((kind, part[field]["name"], keys))
    for container in spec["containers"]:
        for one in container.get("envFrom", ()):
            for kind, field in (("ConfigMap", "configMapRef"), ("Secret", "secretRef")):
                if field in one:
                    found.append((kind, one[field]["name"], None))
        for one in container.get("env", ()):
            for kind, field in (("ConfigMap", "configMapKeyRef"), ("Secret", "secretKeyRef")):
                if ref := one.get("valueFrom", {}).get(field):
                    found.append((kind, ref["name"], {ref["key"]}))
    return found


def _extras(workload: dict[str, Any], namespace: str) -> Wanted:
    annotations = workload["metadata"].get("annotations", {})
    found: Wanted = []
    for kind in ("ConfigMap", "Secret"):
        text = annotations.get(f"wave.pusher.com/extra-{kind.lower()}s", "")
        found += [(kind, name, None) for name in text.split(",") if name]
    return found


def _values(api: Api, kind: str, namespace: str, name: str) -> dict[str, str] | None:
    listed = api.list(path_to(kind, "", namespace))
    found = next((one for one in listed if one["metadata"]["name"] == name), None)
    if found is None:
        return None
    data: dict[str, str] = found.get("data", {})
    if kind == "Secret":
        return data
    encoded = {key: base64.b64encode(text.encode()).decode() for key, text in data.items()}
    return {**encoded, **found.get("binaryData", {})}
