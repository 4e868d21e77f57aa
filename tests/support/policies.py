"""Policies of the API server that refuse what tests want to see refused."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.build import Object

from reroll_dev.api import Api, path_of, path_to

VERSION = "admissionregistration.k8s.io/v1"


@contextmanager
def refusing(
    api: Api, namespace: str, unless: str, message: str, reason: str = "Invalid"
) -> Iterator[Object]:
    """Every change of a Deployment there of which this CEL expression does not hold.

    The binding: whoever deletes it lets all through again. It takes a moment to be in force.
    """
    name = f"refusing-{uuid.uuid4().hex[:8]}"
    rule = {
        "apiGroups": ["apps"],
        "apiVersions": ["v1"],
        "operations": ["UPDATE"],
        "resources": ["deployments"],
    }
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": unless, "message": message, "reason": reason}],
    }
    here = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    binding = {
        "apiVersion": VERSION,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {
            "policyName": name,
            "validationActions": ["Deny"],
            "matchResources": {"namespaceSelector": here},
        },
    }
    kind = "ValidatingAdmissionPolicy"
    api.create({"apiVersion": VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec})
    api.create(binding)
    try:
        yield binding
    finally:
        api.delete(path_of(binding), missing_ok=True)
        api.delete(path_to(kind, name, version=VERSION))
