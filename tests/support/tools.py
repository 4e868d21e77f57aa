"""What tests do to a cluster beside calling its API: tools, identities, the audit log."""

import json
import os
import subprocess
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import yaml

from reroll.core.tables import rights
from reroll_dev import access
from reroll_dev.api import Api, path_to
from reroll_dev.cluster import DevCluster

Identity = str | Path
"""The name of an identity of the cluster, or a kubeconfig."""


class Tool(Protocol):
    def __call__(
        self,
        *args: str | Path,
        input: str | None = None,  # noqa: A002
        identity: Identity | None = "admin",
    ) -> str: ...


def replace(kubectl: Tool, namespace: str, *manifests: Mapping[str, Any]) -> None:
    """`kubectl replace`, again where a controller wrote between its GET and its PUT."""
    for one in manifests:
        for _ in range(10):
            try:
                kubectl("replace", "--namespace", namespace, "-f", "-", input=json.dumps(one))
            except AssertionError as failed:
                if "(Conflict)" not in str(failed):
                    raise
            else:
                break
        else:
            raise AssertionError(f"{one['metadata']['name']} changes all the time")


@dataclass(frozen=True)
class Runner:
    """Runs a program against the cluster; a failure shows what it said."""

    program: Path
    home: Path
    cluster: Callable[[], DevCluster]

    def __call__(
        self,
        *args: str | Path,
        input: str | None = None,  # noqa: A002
        identity: Identity | None = "admin",
    ) -> str:
        finished = subprocess.run(
            [self.program, *args],
            input=input,
            env=self._environment(identity),
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        if finished.returncode:
            command = " ".join(map(str, (self.program.name, *args)))
            raise AssertionError(
                f"`{command}` ended with {finished.returncode}:\n{finished.stderr}"
            )
        return finished.stdout

    def _environment(self, identity: Identity | None) -> dict[str, str]:
        """Nothing of the user's own configuration; without an identity, no cluster either."""
        env = {"PATH": os.environ["PATH"], "HOME": str(self.home), "KUBECONFIG": os.devnull}
        if identity is not None:
            env["KUBECONFIG"] = str(kubeconfig_of(self.cluster(), identity))
        return env


def kubeconfig_of(cluster: DevCluster, identity: Identity) -> Path:
    return identity if isinstance(identity, Path) else cluster.kubeconfig(identity)


@dataclass(frozen=True)
class Grants:
    """Makes identities with exactly the rights a test names; they are service accounts."""

    cluster: DevCluster
    api: Api
    home: str
    """The namespace in which the service accounts live."""
    folder: Path

    def __call__(self, rules: Sequence[Mapping[str, Any]], namespace: str | None = None) -> Path:
        """A kubeconfig with these rules in `namespace`, or in the whole cluster."""
        name = f"test-{uuid.uuid4().hex[:8]}"
        account = {"kind": "ServiceAccount", "name": name, "namespace": self.home}
        self.api.create(_named("v1", "ServiceAccount", name), self.home)
        for manifest in rights.grant(name, rules, account, everywhere=namespace is None):
            self.api.create(manifest, namespace)
        user = f"system:serviceaccount:{self.home}:{name}"
        if rules:
            self._await_rights(user, rules[0], namespace)
        return self.login(name)

    def _await_rights(self, user: str, rule: Mapping[str, Any], namespace: str | None) -> None:
        """The API server learns of a new role a moment after it was made."""
        spec = {"user": user, **_question(rule, namespace)}
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview"}
        path = path_to("SubjectAccessReview", version="authorization.k8s.io/v1")
        for _ in range(500):
            answer = self.api.post(path, {**review, "spec": spec})
            if answer["status"]["allowed"]:
                return
            time.sleep(0.01)
        raise AssertionError(f"{user} was not granted {rule}")

    def login(self, name: str) -> Path:
        """A kubeconfig of a service account that is there."""
        user = f"system:serviceaccount:{self.home}:{name}"
        path = f"{path_to('ServiceAccount', name, self.home)}/token"
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}
        answer = self.api.post(path, {**request, "spec": {"expirationSeconds": 86400}})
        login = {"token": answer["status"]["token"]}
        ca = self.cluster.layout.ca.read_bytes()
        file = self.folder / f"{name}.kubeconfig"
        file.write_text(yaml.safe_dump(access.kubeconfig(self.api.server, ca, user, login)))
        return file

    def revoke(self) -> None:
        """Remove the cluster-wide grants; the rest goes with the namespace."""
        for file in self.folder.glob("test-*.kubeconfig"):
            for kind in ("ClusterRoleBinding", "ClusterRole"):
                self.api.delete(path_to(kind, file.stem), missing_ok=True)


def _question(rule: Mapping[str, Any], namespace: str | None) -> dict[str, Any]:
    verb = rule["verbs"][0]
    if "nonResourceURLs" in rule:
        return {"nonResourceAttributes": {"path": rule["nonResourceURLs"][0], "verb": verb}}
    resource, _, subresource = rule["resources"][0].partition("/")
    return {
        "resourceAttributes": {
            "verb": verb,
            "group": rule["apiGroups"][0],
            "resource": resource,
            "subresource": subresource,
            "name": next(iter(rule.get("resourceNames", ())), ""),
            "namespace": namespace or "",
        }
    }


def _named(version: str, kind: str, name: str) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}}


@dataclass(frozen=True)
class Audit:
    """The calls that reached the API server since this was made, by user."""

    log: Path
    api: Api
    start: int

    def __call__(self, user: Identity) -> list[dict[str, Any]]:
        """One record for each call; `user` is a name or the kubeconfig of one.

        In the order in which they came: each is written down only once it was answered, and what
        followed from it may have been written down before.
        """
        name = user if isinstance(user, str) else _user_of(user)
        calls: dict[str, dict[str, Any]] = {}
        for record in self._records():
            if record.get("user", {}).get("username") == name:
                # A watch is recorded when it begins and when it ends.
                calls[record["auditID"]] = record
        return sorted(calls.values(), key=lambda call: str(call["requestReceivedTimestamp"]))

    def _records(self) -> list[dict[str, Any]]:
        """Everything up to now: a call of our own marks the place."""
        mark = uuid.uuid4().hex
        self.api.get("/version", mark=mark)
        while True:
            with self.log.open("rb") as file:
                file.seek(self.start)
                content = file.read()
            if mark.encode() in content:
                whole = content[: content.rfind(b"\n")]
                return [json.loads(line) for line in whole.splitlines()]
            time.sleep(0.01)


def _user_of(kubeconfig: Path) -> str:
    name: str = yaml.safe_load(kubeconfig.read_text())["users"][0]["name"]
    return name
