"""The objects that make the API server rewrite pods of pinned templates.

Pure. Either a MutatingAdmissionPolicy with its binding, which call nothing of ours when a pod is
created, or the configuration of our webhook. Both look only at pods with the annotation, and leave
out namespaces with the label that switches them off, and those that are exempt.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from reroll.core.policy.selectors import Requirement
from reroll.core.revisions import cel
from reroll.core.tables.annotations import DOMAIN
from reroll.kube import resources
from reroll.kube.wire import Resource

Manifest = dict[str, Any]

NAME = "reroll-pins"
PART = DOMAIN + "part"
LABELS = {"app.kubernetes.io/name": "reroll", PART: "pins"}
OURS = f"{PART}={LABELS[PART]}"
"""The label selector of everything that is installed here."""
SWITCH = DOMAIN + "pins"
"""The label of a Namespace that is left out."""
OFF = "disabled"
NAME_LABEL = "kubernetes.io/metadata.name"
"""The label that Kubernetes gives each Namespace: its name."""
EXEMPT = ("kube-system",)
"""Namespaces that are left out unless somebody says otherwise, beside that of the controller.

What a cluster needs to run must not wait for what runs in it: a controller whose own pods wait for
its webhook never starts.
"""
VERSIONS = ("v1", "v1beta1")
"""Of the policy; the specs are the same. The first that is served is used."""
OLDEST_MINOR = 35
"""Of Kubernetes 1, for the policy: before, no new expression may call `flatten`."""
PATH = "/pins"
PORT = 443
TIMEOUT = 10
"""Seconds; the webhook looks nothing up."""


class Mode(StrEnum):
    """How pods get the copies that their template is pinned to."""

    POLICY = "policy"
    WEBHOOK = "webhook"
    TEMPLATE = "template"


class Service(NamedTuple):
    """Where the API server finds our webhook in the cluster."""

    namespace: str
    name: str = "reroll-webhook"
    port: int = PORT

    def __str__(self) -> str:
        return f"Service {self.namespace}/{self.name}"


def policy(version: str, name: str = NAME, only: Sequence[Manifest] = ()) -> list[Manifest]:
    """The policy and its binding, in the order in which they are applied.

    `only` are requirements on the labels of namespaces, beside that of the switch; see `exempt`.
    """
    rules = {
        "matchConstraints": {"resourceRules": [_RULE]},
        "matchConditions": [_CONDITION],
        "variables": [{"name": name, "expression": text} for name, text in cel.VARIABLES],
        "failurePolicy": "Fail",  # a pinned pod must not start with the wrong configuration
        "reinvocationPolicy": "IfNeeded",  # what another admission adds names sources too
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": cel.patches()}}],
    }
    binding = {
        "policyName": name,
        "matchResources": {"namespaceSelector": {"matchExpressions": [_SWITCH, *only]}},
    }
    return [
        _object(resources.admission_policies(version), name, spec=rules),
        _object(resources.admission_policy_bindings(version), name, spec=binding),
    ]


def webhook(
    server: Service | str, name: str = NAME, only: Sequence[Manifest] = (), ca_bundle: str = ""
) -> list[Manifest]:
    """The configuration of our webhook, which is behind a Service or at an URL.

    Without `ca_bundle` that field is left to the controller, which keeps it current.
    """
    if isinstance(server, str):
        client: Manifest = {"url": server}
    else:
        where = {"namespace": server.namespace, "name": server.name, "port": server.port}
        client = {"service": {**where, "path": PATH}}
    if ca_bundle:
        client["caBundle"] = ca_bundle
    hook = {
        "name": "pins.reroll.dev",
        "clientConfig": client,
        "rules": [_RULE],
        "matchConditions": [_CONDITION],
        "namespaceSelector": {"matchExpressions": [_SWITCH, *only]},
        "failurePolicy": "Fail",
        "reinvocationPolicy": "IfNeeded",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": TIMEOUT,
    }
    return [_object(resources.WEBHOOKS, name, webhooks=[hook])]


def exempt(namespaces: Iterable[str]) -> list[Manifest]:
    """The requirement that leaves these namespaces out; none for none."""
    names = sorted(set(namespaces))
    return [{"key": NAME_LABEL, "operator": "NotIn", "values": names}] if names else []


def expression(one: Requirement) -> Manifest:
    """A requirement on labels, as objects have it."""
    if one.values is None:
        return {"key": one.key, "operator": "DoesNotExist" if one.negated else "Exists"}
    operator = "NotIn" if one.negated else "In"
    return {"key": one.key, "operator": operator, "values": sorted(one.values)}


_RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
_CONDITION = {"name": "pinned", "expression": cel.IS_PINNED}
_SWITCH = {"key": SWITCH, "operator": "NotIn", "values": [OFF]}


def _object(resource: Resource, name: str, **fields: Any) -> Manifest:
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": name, "labels": dict(LABELS)},
        **fields,
    }
