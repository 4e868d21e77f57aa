"""Streams of all the forms that were met in charts and manifests, made from a number.

Shapes only. Beside each stream stands what is true of it by construction, or by a walk over its
objects that shares no code with the program.
"""

import base64
import json
import random
from typing import Any, NamedTuple

import yaml

Object = dict[str, Any]
Source = tuple[str, str]
"""Kind and name; each is unique in a stream."""

NAMES = ("app", "app-config", "db", "shop.tls", "x1")
KEYS = ("a", "b.txt", "conf.yaml", "D_E")
HOOKS = ({"helm.sh/hook": "pre-upgrade"}, {"argocd.argoproj.io/hook": "PreSync"})


class Stream(NamedTuple):
    objects: list[Object]
    blocked: set[Source]
    """What something names that cannot follow."""
    style: str
    tail: str
    """More text: a document with a key twice."""

    def text(self) -> str:
        return written(self.objects, self.style) + self.tail

    def sources(self) -> dict[Source, Object]:
        kinds = ("ConfigMap", "Secret")
        return {named(each): each for each in self.objects if each["kind"] in kinds}

    def workloads(self) -> list[Object]:
        return [each for each in self.objects if template(each) is not None]


def named(object_: Object) -> Source:
    return object_["kind"], object_["metadata"].get("name", "")


def template(object_: Object) -> Object | None:
    spec = object_.get("spec") or {}
    if object_["kind"] == "CronJob":
        spec = spec["jobTemplate"]["spec"]
    found: Object | None = spec.get("template") if "/" in object_["apiVersion"] else None
    return found


def written(objects: list[Object], style: str) -> str:
    if style == "list":
        objects, style = [{"apiVersion": "v1", "kind": "List", "items": objects}], "block"
    how = {"Dumper": yaml.CSafeDumper, "sort_keys": False, "allow_unicode": True, "width": 1000}
    match style:
        case "json":
            return "".join(json.dumps(each, indent=2) + "\n---\n" for each in objects)
        case "flow":
            parts = [yaml.dump(each, default_flow_style=True, **how) for each in objects]
        case "wide":
            parts = [yaml.dump(each, indent=4, **how) for each in objects]
        case _:
            parts = [f"# Source: x\n{yaml.dump(each, **how)}" for each in objects]
    text = "---\n" + "---\n".join(parts)
    return text.replace("\n", "\r\n") if style == "crlf" else text


class Maker:
    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.namespaces = self.chance.choice(
            [(None, None), ("shop", "shop"), ("shop", None), (None, "shop")]
        )
        """Of sources and of workloads."""
        self.blocked: set[Source] = set()

    def some(self, *choices: Any) -> Any:
        return self.chance.choice(choices)

    def stream(self) -> Stream:
        kinds = [(kind, name) for kind in ("ConfigMap", "Secret") for name in NAMES]
        sources = [self.source(*each) for each in self.chance.sample(kinds, self.some(1, 3, 5))]
        workloads = [self.workload(n) for n in range(self.some(1, 2, 4))]
        others = [self.other(self.some(*kinds)) for _ in range(self.some(0, 0, 1, 2))]
        objects = [*sources, *workloads, *others]
        self.chance.shuffle(objects)
        style = self.some("block", "block", "flow", "wide", "json", "list", "crlf")
        twice = "---\nkind: Service\nmetadata: {name: s, labels: {a: b, a: b}}\n"
        return Stream(objects, self.blocked, style, self.some("", "", twice))

    def metadata(self, name: str, side: int, **more: Any) -> Object:
        namespace = self.namespaces[side]
        return {"name": name, **({"namespace": namespace} if namespace else {}), **more}

    def source(self, kind: str, name: str) -> Object:
        keys = self.chance.sample(KEYS, self.some(0, 1, 2, 4))
        values = {key: self.some("", "v1", "two\nlines\n", "Ærø") for key in keys}
        encoded = {k: base64.b64encode(v.encode()).decode() for k, v in values.items()}
        plain, base64_ = ("data", "binaryData") if kind == "ConfigMap" else ("stringData", "data")
        body = self.some(
            {plain: values}, {plain: values}, {base64_: encoded}, {plain: values or None}
        )
        more = self.some({}, {"labels": {"app": "x"}}, {"annotations": None})
        return {
            "apiVersion": "v1",
            "kind": kind,
            "metadata": self.metadata(name, 0, **more),
            **body,
        }

    def workload(self, number: int) -> Object:
        kind = self.some("Deployment", "StatefulSet", "DaemonSet", "CronJob", "Job", "Job")
        notes = self.some({}, {}, {"reroll.dev/enabled": "false"}, *HOOKS)
        metadata = self.metadata(f"w{number}", 1, annotations=notes)
        if kind == "Job" and self.some(True, False):
            metadata["generateName"] = metadata.pop("name") + "-"
        theirs = self.some({"checksum/config": "51ceb299"}, None, {})
        inside = self.some({}, {"metadata": None}, {"metadata": {"annotations": theirs}})
        spec: Object = {"template": {**inside, "spec": self.pod()}}
        if kind == "CronJob":
            spec = {"schedule": "* * * * *", "jobTemplate": {"spec": spec}}
        version = "batch/v1" if "Job" in kind else "apps/v1"
        made = {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}
        if is_frozen(made):
            self.blocked |= {(kind, name) for kind, name in referred(spec)}
        return made

    def pod(self) -> Object:
        volumes = [self.volume(n) for n in range(self.some(0, 1, 3))]
        containers = [self.container(n, volumes) for n in range(self.some(1, 2))]
        first = {"initContainers": [self.container(9, volumes)]} if self.some(0, 1) else {}
        pull = self.some({}, {}, {"imagePullSecrets": [{"name": self.some(*NAMES)}]})
        return {**first, **pull, "containers": containers, "volumes": volumes or None}

    def reference(self) -> tuple[str, Object]:
        optional = self.some({}, {"optional": True}, {"optional": None})
        return self.some("configMap", "secret"), {"name": self.some(*NAMES), **optional}

    def volume(self, number: int) -> Object:
        kind, ref = self.reference()
        keys = self.chance.sample(KEYS, self.some(1, 2))
        items = self.some(
            {}, {"items": None}, {"items": [{"key": k, "path": f"d/{k}"} for k in keys]}
        )
        if self.some(True, False):
            return {"name": f"v{number}", "projected": {"sources": [{kind: {**ref, **items}}]}}
        if kind == "secret":
            ref = {"secretName": ref["name"]}
        return {"name": f"v{number}", kind: {**ref, **items}}

    def container(self, number: int, volumes: list[Object]) -> Object:
        kind, ref = self.reference()
        variables: list[Object] = [{"name": "EMPTY", "value": None}]
        if self.some(True, False):
            key = {**ref, "key": self.some(*KEYS)}
            variables.append({"name": "V", "valueFrom": {f"{kind}KeyRef": key}})
        args = None
        if self.some(*[False] * 5, True):
            name = self.some(*NAMES)
            args = [f"--{self.some('config', 'secret')}=$(NAMESPACE)/{name}"]
            self.blocked |= {("ConfigMap", name), ("Secret", name)}
        mounts = [
            {"name": each["name"], "mountPath": "/x", "subPath": self.some(None, None, "a", "d/a")}
            for each in volumes
            if self.some(True, True, False)
        ]
        return {
            "name": f"c{number}",
            "args": args,
            "env": variables,
            "envFrom": self.some(None, [], [{f"{kind}Ref": ref}]),
            "volumeMounts": mounts,
        }

    def other(self, source: Source) -> Object:
        kind, name = source
        rule = {"apiGroups": [""], "resources": [f"{kind.lower()}s"], "verbs": ["get"]}
        rbac = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role"}
        machine = {"apiVersion": "example.com/v1", "kind": "Machine"}
        made: Object = self.some(
            {**rbac, "rules": [{**rule, "resourceNames": [name]}]},
            {**machine, "spec": {"refs": [{"kind": kind, "name": name}]}},
            {**machine, "spec": {f"{kind[0].lower()}{kind[1:]}Name": name}},
        )
        self.blocked.add(source)
        return {**made, "metadata": self.metadata("other", 1)}


# What is true of a stream, found by a walk of its own


def is_frozen(workload: Object) -> bool:
    notes = workload["metadata"].get("annotations") or {}
    hooked = any(name in notes for hook in HOOKS for name in hook)
    return workload["kind"] == "Job" and "name" in workload["metadata"] and not hooked


def is_stamped(workload: Object) -> bool:
    """Whether it may get a checksum at all."""
    notes = workload["metadata"].get("annotations") or {}
    return notes.get("reroll.dev/enabled") != "false" and not is_frozen(workload)


def referred(value: Any) -> set[Source]:
    """Every source that a pod refers to, used or not."""
    found: set[Source] = set()
    if isinstance(value, list):
        return found.union(*map(referred, value)) if value else found
    if not isinstance(value, dict):
        return found
    for key, below in value.items():
        found |= referred(below)
        if key.startswith("configMap") and isinstance(below, dict):
            found.add(("ConfigMap", below["name"]))
        elif key.startswith("secret") and isinstance(below, dict):
            found.add(("Secret", below.get("name") or below.get("secretName")))
        elif key == "imagePullSecrets":
            found |= {("Secret", each["name"]) for each in below}
    return found


def used(pod: Object) -> set[tuple[Source, str | None]]:
    """Each source that changes what a container has, and the key; `None`: all keys."""
    found: set[tuple[Source, str | None]] = set()
    volumes = {each["name"]: each for each in pod.get("volumes") or ()}
    for container in [*(pod.get("initContainers") or ()), *pod["containers"]]:
        for variable in container["env"]:
            for field, ref in (variable.get("valueFrom") or {}).items():
                found.add(((KINDS[field[:6]], ref["name"]), ref["key"]))
        for each in container["envFrom"] or ():
            for field, ref in each.items():
                found.add(((KINDS[field[:6]], ref["name"]), None))
        for mount in container["volumeMounts"]:
            found |= _mounted(volumes[mount["name"]], mount["subPath"])
    return found


KINDS = {"config": "ConfigMap", "secret": "Secret"}


def _mounted(volume: Object, sub_path: str | None) -> set[tuple[Source, str | None]]:
    parts = (volume.get("projected") or {}).get("sources") or [volume]
    found: set[tuple[Source, str | None]] = set()
    for part in parts:
        for field in ("configMap", "secret"):
            if (ref := part.get(field)) is None:
                continue
            source = KINDS[field[:6]], ref.get("name") or ref.get("secretName")
            items = ref.get("items")
            paths = {item["path"]: item["key"] for item in items or ()}
            if sub_path and not items:
                found.add((source, sub_path))
            elif sub_path:
                inside = (p for p in paths if p == sub_path or p.startswith(f"{sub_path}/"))
                found |= {(source, paths[path]) for path in inside}
                found |= {(source, "")} if items else set()
            elif items:
                found |= {(source, key) for key in paths.values()}
            else:
                found.add((source, None))
    return found
