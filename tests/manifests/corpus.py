"""Streams of all the forms that were met in charts and manifests, made from a number.

Shapes only. Beside each stream stands what is true of it by construction, or by a walk over its
objects that shares no code with the program.
"""

import base64
import copy
import json
import random
from typing import Any, NamedTuple

import yaml

Object = dict[str, Any]
Source = tuple[str, str]
"""Kind and name; each is unique in a stream."""

NAMES = ("app", "app-config", "db", "shop.tls", "x1")
KEYS = ("a", "b.txt", "conf.yaml", "D_E")
RBAC = "rbac.authorization.k8s.io/v1"
HOOKS = ({"helm.sh/hook": "pre-upgrade"}, {"argocd.argoproj.io/hook": "PreSync"})


OLD = "extensions/v1beta1"
LABEL = "dashboards"
STYLES = (
    *("block", "block", "indented", "wide", "flow", "quoted", "aliases"),
    *("json", "list", "crlf", "mark", "unended", "empty"),
)


class Stream(NamedTuple):
    objects: list[Object]
    blocked: set[Source]
    """What something names that cannot follow."""
    wishes: dict[Source, str]
    """What annotations can say of names."""
    style: str
    tail: str
    """More text: a document with a key twice."""

    def text(self) -> str:
        return written(self.objects, self.style, self.tail)

    def wishing(self) -> "Stream":
        """The same, with the annotations of `wishes`."""
        wished = self._replace(objects=copy.deepcopy(self.objects))
        for source, made in wished.sources().items():
            if word := self.wishes.get(source):
                made["metadata"]["annotations"] = {"reroll.dev/names": word}
        return wished

    def sources(self) -> dict[Source, Object]:
        kinds = ("ConfigMap", "Secret")
        return {named(each): each for each in self.objects if each["kind"] in kinds}

    def workloads(self) -> list[Object]:
        return [each for each in self.objects if template(each) is not None]

    def referred(self) -> set[Source]:
        """What pods name that can follow a new name."""
        pods = [each for each in self.objects if each["kind"] == "Pod"]
        known = [each for each in self.workloads() if each["apiVersion"] != OLD]
        return set().union(*(referred(each["spec"]) for each in (*pods, *known)))


def named(object_: Object) -> Source:
    return object_["kind"], object_["metadata"].get("name", "")


def template(object_: Object) -> Object | None:
    spec = object_.get("spec") or {}
    if object_["kind"] == "CronJob":
        spec = spec["jobTemplate"]["spec"]
    found: Object | None = spec.get("template") if "/" in object_["apiVersion"] else None
    return found


class Indented(yaml.SafeDumper):
    """Lists stand further right than the key above them."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, indentless=False)


HOW: dict[str, dict[str, Any]] = {
    "flow": {"default_flow_style": True},
    "wide": {"indent": 4},
    "quoted": {"default_style": '"', "Dumper": yaml.SafeDumper},
    "indented": {"Dumper": Indented},
}


def written(objects: list[Object], style: str, tail: str) -> str:
    if style == "json":
        return "".join(json.dumps(each, indent=2) + "\n---\n" for each in objects) + tail
    if style == "list":
        objects = [{"apiVersion": "v1", "kind": "List", "items": objects}]
    if style != "aliases":
        objects = json.loads(json.dumps(objects))  # Nothing is shared.
    usual = {"Dumper": yaml.CSafeDumper, "sort_keys": False, "allow_unicode": True, "width": 1000}
    how = {**usual, **HOW.get(style, {})}
    parts = [f"# Source: x\n{yaml.dump(each, **how)}" for each in objects]
    text = "---\n" + "---\n".join(parts) + tail
    match style:
        case "crlf":
            return text.replace("\n", "\r\n")
        case "mark":
            return "\ufeff" + text
        case "unended":
            return text.rstrip("\n")
        case "empty":
            return text.replace("---\n", "--- # nothing\n---\n")
    return text


class Maker:
    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.namespaces = self.chance.choice(
            [(None, None), ("shop", "shop"), ("shop", None), (None, "shop")]
        )
        """Of sources and of workloads."""
        self.blocked: set[Source] = set()
        self.labelled: set[Source] = set()

    def some(self, *choices: Any) -> Any:
        return self.chance.choice(choices)

    def stream(self) -> Stream:
        kinds = [(kind, name) for kind in ("ConfigMap", "Secret") for name in NAMES]
        sources = [self.source(*each) for each in self.chance.sample(kinds, self.some(1, 3, 5))]
        workloads = [self.workload(n) for n in range(self.some(1, 2, 4))]
        others = [
            one
            for number in range(self.some(0, 0, 1, 2))
            for one in self.others(f"other{number}", self.some(*kinds))
        ]
        objects = [*sources, *workloads, *others]
        self.chance.shuffle(objects)
        wishes = {each: self.some("", "", "always", "never") for each in map(named, sources)}
        style = self.some(*STYLES)
        twice = "---\nkind: Service\nmetadata: {name: s, labels: {a: b, a: b}}\n"
        return Stream(objects, self.blocked, wishes, style, self.some("", "", twice))

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
        more = self.some({}, {"labels": {LABEL: "1"}}, {"annotations": None})
        if "labels" in more:
            self.labelled.add((kind, name))
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
        version = "batch/v1" if "Job" in kind else self.some(*["apps/v1"] * 5, OLD)
        made = {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}
        if is_frozen(made):
            self.blocked |= referred(spec)
        if version == OLD:
            pulled = spec["template"]["spec"].get("imagePullSecrets", ())
            self.blocked |= referred(spec) | {("ConfigMap", each["name"]) for each in pulled}
        return made

    def pod(self) -> Object:
        volumes = [self.volume(n) for n in range(self.some(0, 1, 3))]
        containers = [self.container(n, volumes) for n in range(self.some(1, 2))]
        if self.some(True, False):
            containers.append({**containers[0], "name": "twin"})
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
        if self.some(*[False] * 7, True):
            variables.append({"name": "WATCH", "value": LABEL})
            self.blocked |= self.labelled
        if self.some(*[False] * 7, True):
            name = self.some(*NAMES)
            variables.append({"name": "CONFIG_NAME", "value": name})
            self.blocked |= {("ConfigMap", name), ("Secret", name)}
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

    def others(self, own: str, source: Source) -> list[Object]:
        """What uses a source without a pod template."""
        make = self.some(self.role, self.machine, self.access, self.pod_alone, self.by_a_controller)
        made: list[Object] = make(*source)
        for each in made:
            each["metadata"] = self.metadata(own, 1, **each.get("metadata", {}))
            if "roleRef" in each:
                each["roleRef"]["name"] = own
        return made

    def role(self, kind: str, name: str) -> list[Object]:
        resources = self.some([f"{kind.lower()}s"], ["configmaps", "secrets", "pods"])
        self.blocked |= {(kind, name)} if len(resources) == 1 else set()
        self.blocked |= {(each, name) for each in KINDS.values()} if len(resources) > 1 else set()
        rule = {"apiGroups": [""], "resources": resources, "verbs": ["get"]}
        return [{"apiVersion": RBAC, "kind": "Role", "rules": [{**rule, "resourceNames": [name]}]}]

    def access(self, kind: str, _: str) -> list[Object]:
        """A program that may read all of a kind."""
        self.blocked |= {(kind, name) for name in NAMES}
        rule = {"apiGroups": [""], "resources": [f"{kind.lower()}s"], "verbs": ["list"]}
        return [
            {"apiVersion": RBAC, "kind": "Role", "rules": [rule]},
            {
                "apiVersion": RBAC,
                "kind": "RoleBinding",
                "roleRef": {"kind": "Role"},
                "subjects": [{"kind": "ServiceAccount", "name": "default"}],
            },
        ]

    def machine(self, kind: str, name: str) -> list[Object]:
        self.blocked.add((kind, name))
        field = f"{kind[0].lower()}{kind[1:]}Name"
        spec = self.some({"refs": [{"kind": kind, "name": name}]}, {field: name})
        return [{"apiVersion": "example.com/v1", "kind": "Machine", "spec": spec}]

    def pod_alone(self, *_: str) -> list[Object]:
        hook = self.some({}, {"annotations": HOOKS[0]})
        spec = self.pod()
        self.blocked |= set() if hook else referred(spec)
        return [{"apiVersion": "v1", "kind": "Pod", "metadata": hook, "spec": spec}]

    def by_a_controller(self, _: str, name: str) -> list[Object]:
        self.blocked.add(("Secret", name))
        ingress = {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress"}
        storage = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass"}
        return self.some(
            [{**ingress, "spec": {"tls": [{"hosts": ["x"], "secretName": name}]}}],
            [{**storage, "parameters": {"csi.storage.k8s.io/node-stage-secret-name": name}}],
        )


# What is true of a stream, found by a walk of its own


def is_frozen(workload: Object) -> bool:
    notes = workload["metadata"].get("annotations") or {}
    hooked = any(name in notes for hook in HOOKS for name in hook)
    return workload["kind"] == "Job" and "name" in workload["metadata"] and not hooked


def is_stamped(workload: Object) -> bool:
    """Whether it may get a checksum at all."""
    notes = workload["metadata"].get("annotations") or {}
    is_known = workload["apiVersion"] != OLD
    return is_known and notes.get("reroll.dev/enabled") != "false" and not is_frozen(workload)


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
