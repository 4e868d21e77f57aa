"""The Job that runs `reroll attach` after a deploy, with the rights for that and no others.

Pure. One for each namespace of a rendered stream that has content-named configs. The name of the
Job changes with what is deployed, because a Job cannot be changed and has to run for each deploy;
the names of the rest do not.
"""

import hashlib
from typing import Any

import msgspec
import yaml

from reroll.core.model.key import Key
from reroll.core.revisions.content_names import ATTACHING, Scheme
from reroll.core.tables import rights
from reroll.core.tables.annotations import ENABLED
from reroll.core.tables.catalog import TABLES
from reroll.core.tables.kinds import Kind
from reroll.core.tables.source_kinds import SourceKind
from reroll.manifests.model import BadInputError, Manifests, ManifestWorkload

Config = tuple[SourceKind, str]
TIMEOUT = "5m"
_A_DAY = 24 * 3600
_OPEN = {
    # Argo CD runs it after each sync, and it is no part of what has to be in sync.
    "argocd.argoproj.io/hook": "PostSync",
    "argocd.argoproj.io/hook-delete-policy": "BeforeHookCreation",
    ENABLED: "false",
}
_CONTAINER: dict[str, Any] = {
    "resources": {"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}},
    "securityContext": {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    },
}
_NAMELESS = (
    "the manifests do not say in which namespace they will be, and the rights of a Job that "
    "attaches their configs depend on it; give --namespace"
)
_POD_SECURITY = {
    "runAsNonRoot": True,
    "runAsUser": 65532,
    "seccompProfile": {"type": "RuntimeDefault"},
}


def attach_jobs(rendered: Manifests, image: str) -> bytes:
    """What to append to a rendered stream, in its form; empty if it holds that already."""
    present = {each.key for each in rendered.objects}
    added = [each for each in _all_objects(rendered, image) if _key(each) not in present]
    if not added:
        return b""
    last = rendered.objects[-1]
    broken = b"" if rendered.texts[-1].endswith("\n") else b"\n"
    if last.document.is_json:
        return broken + b"".join(msgspec.json.encode(each) + b"\n" for each in added)
    return broken + yaml.safe_dump_all(added, explicit_start=True, sort_keys=False).encode()


def _all_objects(rendered: Manifests, image: str) -> list[dict[str, Any]]:
    configs: dict[str, list[Config]] = {}
    for key, source in rendered.sources.items():
        claim = source.object.claim()
        if claim and claim.scheme is Scheme.REROLL:
            configs.setdefault(key.namespace, []).append((source.kind, key.name))
    objects = []
    for namespace, those in sorted(configs.items()):
        users = [each for each in rendered.workloads if _uses(each, namespace, those)]
        if users and not namespace:
            raise BadInputError(_NAMELESS)
        objects += _objects(namespace, users, those, image) if users else []
    return objects


def _key(made: dict[str, Any]) -> Key:
    return Key(made["kind"], made["metadata"]["namespace"], made["metadata"]["name"])


def _uses(workload: ManifestWorkload, namespace: str, configs: list[Config]) -> bool:
    key, labels = workload.key, workload.object.labels
    if key.namespace != namespace or not key.name or ATTACHING.items() <= labels.items():
        return False
    if workload.kind.name not in TABLES.by_name:
        return False  # `reroll attach` knows only the kinds that every installation has.
    text = str(workload.template())
    return any(name in text for _, name in configs)


def _objects(
    namespace: str, users: list[ManifestWorkload], configs: list[Config], image: str
) -> list[dict[str, Any]]:
    workloads = sorted(((each.kind, each.key.name) for each in users), key=_word)
    configs = sorted(configs, key=_word)
    name = f"reroll-attach-{_hash(sorted(map(_word, workloads)))}"
    deployed = [str(each.template()) for each in sorted(users, key=lambda each: each.key)]
    run = f"{name}-{_hash([image, *map(_word, configs), *deployed])}"
    account = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
    role, binding = rights.grant(
        name, rights.attaching(workloads, configs), account, everywhere=False
    )
    owner = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}
    objects = [
        {**owner, "automountServiceAccountToken": False},
        role,
        binding,
        _job(run, name, image, namespace, workloads, configs),
    ]
    return [_placed(each, namespace) for each in objects]


def _placed(made: dict[str, Any], namespace: str) -> dict[str, Any]:
    metadata = {**made["metadata"], "namespace": namespace, "labels": dict(ATTACHING)}
    return {"apiVersion": made["apiVersion"], "kind": made["kind"], **made, "metadata": metadata}


def _job(
    name: str,
    account: str,
    image: str,
    namespace: str,
    workloads: list[tuple[Kind, str]],
    configs: list[Config],
) -> dict[str, Any]:
    args = ["attach", "-n", namespace, "--timeout", TIMEOUT, *map(_word, workloads)]
    args += [part for one in configs for part in ("--config", _word(one))]
    pod = {
        "serviceAccountName": account,
        "automountServiceAccountToken": True,
        "restartPolicy": "OnFailure",
        "securityContext": _POD_SECURITY,
        "containers": [{"name": "attach", "image": image, "args": args, **_CONTAINER}],
    }
    spec = {
        "backoffLimit": 3,
        "ttlSecondsAfterFinished": _A_DAY,
        "template": {"metadata": {"labels": dict(ATTACHING)}, "spec": pod},
    }
    metadata = {"name": name, "annotations": dict(_OPEN)}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def _word(one: tuple[Kind | SourceKind, str]) -> str:
    return f"{one[0].name.lower()}/{one[1]}"


def _hash(parts: list[str]) -> str:
    text = "".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.sha256(text.encode()).hexdigest()[:8]
