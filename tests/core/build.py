"""Small builders for the values of `core`, and a JSON Patch applier as strict as the server."""

import copy
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from reroll.core.decide.actions import (
    Edit,
    MakeCopies,
    Patch,
    Pause,
    Pin,
    RecreateJob,
    Resume,
    SetMarks,
    StartJob,
)
from reroll.core.decide.plan import Plan
from reroll.core.dialects.table import ALL
from reroll.core.model import digest
from reroll.core.model.content import Content
from reroll.core.model.key import Key
from reroll.core.model.marks import Mark
from reroll.core.model.metadata import Manifest
from reroll.core.model.moment import Moment
from reroll.core.model.podspec import PodSpec
from reroll.core.model.record import Record, write
from reroll.core.model.reference import Reference
from reroll.core.observe import workload as workloads
from reroll.core.observe.snapshot import Absence, Snapshot
from reroll.core.observe.workload import Workload
from reroll.core.policy.policy import Policy
from reroll.core.tables.annotations import STATE
from reroll.core.tables.kinds import KINDS, Kind

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
HOME = "shop"
KIND = {kind.name: kind for kind in KINDS}
DEPLOYMENT = KIND["Deployment"]
Document = dict[str, Any]


def configmap(name: str, namespace: str = HOME) -> Key:
    return Key("ConfigMap", namespace, name)


def secret(name: str, namespace: str = HOME) -> Key:
    return Key("Secret", namespace, name)


def reference(source: Key, *keys: str, **more: Any) -> Reference:
    """A required reference to all of a source, or to some of its keys."""
    more.setdefault("required", True)
    return Reference(source, keys=frozenset(keys) if keys else None, **more)


def content(
    values: dict[str, str],
    changed: Moment | None = None,
    *,
    hmac: dict[str, bytes | None] | None = None,
    **more: Any,
) -> Content:
    """What is kept of a source with these values; `hmac` are the keys it is digested with."""
    plain = {name: value.encode() for name, value in values.items()}
    by_id = {key_id: digest.value_digests(plain, key) for key_id, key in (hmac or {}).items()}
    return Content(
        by_id or {"": digest.value_digests(plain, None)}, changed or Moment(), **more
    )  # fmt: skip


def pod_spec(**fields: Any) -> PodSpec:
    return msgspec.convert(fields, PodSpec)


def template(annotations: dict[str, str] | None = None, **container: Any) -> Document:
    """A pod template with one container."""
    metadata: Document = {"labels": {"app": "web"}}
    if annotations is not None:
        metadata["annotations"] = annotations
    container = {"name": "web", "image": "web:1", **container}
    return {"metadata": metadata, "spec": {"containers": [container]}}


def env_from(*, optional: bool = False, **sources: str) -> list[Document]:
    """`envFrom` of a container: `configmap="app"`, `secret="db"`."""
    fields = {"configmap": "configMapRef", "secret": "secretRef"}
    return [
        {fields[kind]: {"name": name, **({"optional": True} if optional else {})}}
        for kind, name in sources.items()
    ]


def env(name: str, key: str, *, optional: bool = False) -> Document:
    """A variable from one key of a ConfigMap."""
    ref = {"name": name, "key": key, **({"optional": True} if optional else {})}
    return {"name": key.upper(), "valueFrom": {"configMapKeyRef": ref}}


def document(kind: Kind, pods: Any = None, *, version: int = 100, **metadata: Any) -> Document:
    """A manifest of `kind` with a pod template at the kind's path."""
    here: Document = {}
    spec = here
    for step in kind.template[1:-1]:
        here = here.setdefault(step, {})
    here[kind.template[-1]] = template() if pods is None else pods
    return {
        "metadata": {
            "name": "web",
            "namespace": HOME,
            "uid": "uid-1",
            "resourceVersion": str(version),
            "generation": 1,
            "annotations": {"reroll.dev/enabled": "true"},
            **metadata,
        },
        "spec": spec,
    }


def decoded(document: Document) -> Manifest:
    return msgspec.json.decode(json.dumps(document), type=Manifest)


def workload(kind: Kind, document: Document, before: Workload | None = None) -> Workload:
    return workloads.workload(kind, decoded(document), before, words=ALL.words)


EAGER = Policy(enabled=True, debounce=timedelta())


def snapshot(
    sources: dict[Reference, Content | Absence],
    record: Record | None = None,
    *,
    kind: Kind = DEPLOYMENT,
    policy: Policy = EAGER,
    changes: Document | None = None,
    **more: Any,
) -> Snapshot:
    """What a decision looks at: a workload with `record`, and `changes` made to it by hand."""
    annotations = {"reroll.dev/enabled": "true", **({STATE: write(record)} if record else {})}
    seen = workload(kind, document(kind, annotations=annotations))
    return Snapshot(
        msgspec.structs.replace(seen, **(changes or {})),
        kind,
        policy,
        tuple(sources),
        {ref.source: held for ref, held in sources.items()},
        **more,
    )


# What a plan would do


def edits(plan: Plan) -> tuple[Edit, ...]:
    """What it writes to the workload, of all kinds of edits."""
    patches = [action for action in plan.actions if isinstance(action, Patch)]
    return tuple(edit for each in patches for edit in each.edits)


def copies(plan: Plan) -> tuple[tuple[Key, str], ...]:
    """The copies that it makes: of which source, and by what name."""
    makers = [action for action in plan.actions if isinstance(action, MakeCopies)]
    return tuple(copy for maker in makers for copy in maker.copies)


def pins(plan: Plan) -> str | None:
    """The pins that it writes; empty: it takes them away; `None`: they stay."""
    jobs = [each.pins for each in plan.actions if isinstance(each, StartJob | RecreateJob)]
    written = [edit.pins for edit in edits(plan) if isinstance(edit, Pin)]
    [only] = {*jobs, *written} or {None}
    return only


def marks(plan: Plan) -> tuple[Mark, ...]:
    """The marks that it writes into a template, or into a Job made of it."""
    jobs = [each.marks for each in plan.actions if isinstance(each, StartJob | RecreateJob)]
    written = [edit.marks for edit in edits(plan) if isinstance(edit, SetMarks)]
    [only] = {*jobs, *written} or {()}
    return only


def pauses(plan: Plan) -> bool | None:
    """Whether it pauses the workload, or ends a pause of it; `None`: neither."""
    given = [isinstance(e, Pause) for e in edits(plan) if isinstance(e, Pause | Resume)]
    [only] = given or [None]
    return only


def at_path(document: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        document = document[step]
    return document


class PatchError(Exception):
    """What the API server answers with 422."""


def patched(document: Any, operations: list[Document]) -> Any:
    """A copy of `document` with a JSON Patch applied, all of it or nothing."""
    result = copy.deepcopy(document)
    for operation in operations:
        *parents, last = (_unescape(step) for step in operation["path"].split("/")[1:])
        here = result
        for step in parents:
            here = _child(here, step)
        _apply(operation["op"], here, last, operation.get("value"))
    return result


def _unescape(step: str) -> str:
    return step.replace("~1", "/").replace("~0", "~")


def _child(here: Any, step: str) -> Any:
    """One step down; a parent that is missing fails even a test with `null`."""
    try:
        return here[int(step)] if isinstance(here, list) else here[step]
    except (KeyError, IndexError):
        raise PatchError(f"missing parent: {step}") from None


def _apply(op: str, here: Any, last: str, value: Any) -> None:
    if isinstance(here, list):
        if op == "add":
            here.insert(len(here) if last == "-" else int(last), value)
            return
        exists, found = int(last) < len(here), here[int(last)] if int(last) < len(here) else None
        key: Any = int(last)
    else:
        exists, found, key = last in here, here.get(last), last
    if op == "test" and found != value:
        raise PatchError(f"test of {last} failed: {found!r} is not {value!r}")
    if op in {"replace", "remove"} and not exists:
        raise PatchError(f"nothing to {op} at {last}")
    if op == "remove":
        del here[key]
    elif op != "test":
        here[key] = value
