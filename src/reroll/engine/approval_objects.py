"""The objects that have the API server guard approvals.

Pure. A ValidatingAdmissionPolicy with its binding: who writes an approval or a rejection to a
source needs the verb `approve` on `approvals.reroll.dev` in its namespace, and writes their own
name. The same verb is needed for what would get round it: to take `approval: required` away from a
source, and to call it urgent. A write that leaves all of that as it was is nobody's concern here.
"""

from collections.abc import Iterable
from typing import Any

from reroll.core.policy.approval import CONTENT
from reroll.core.tables.annotations import APPROVAL, APPROVED, DOMAIN, REJECTED, URGENT
from reroll.core.tables.source_kinds import CONFIGS, SourceKind
from reroll.kube import resources
from reroll.kube.wire import Resource

Manifest = dict[str, Any]

NAME = "reroll-approvals"
PART = DOMAIN + "part"
LABELS = {"app.kubernetes.io/name": "reroll", PART: "approvals"}
OURS = f"{PART}={LABELS[PART]}"
"""The label selector of everything that is installed here."""
GROUP = DOMAIN.rstrip("/")
RESOURCE = "approvals"
VERB = "approve"
RULES = [{"apiGroups": [GROUP], "resources": [RESOURCE], "verbs": [VERB]}]
"""Of a role for those who may approve."""
GUARDED = (APPROVED, REJECTED, APPROVAL, URGENT)


def policy(name: str = NAME, rows: Iterable[SourceKind] = CONFIGS) -> list[Manifest]:
    """The policy and its binding, in the order in which they are applied.

    `rows`: the kinds of sources that are guarded.
    """
    rules = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [_rule(row) for row in rows]},
        "matchConditions": [{"name": "touched", "expression": _any(map(_touched, GUARDED))}],
        "variables": [
            {"name": "approved", "expression": _text("object", APPROVED)},
            {"name": "rejected", "expression": _text("object", REJECTED)},
        ],
        "validations": [
            {
                "expression": f"!({_any(map(_touched, (APPROVED, REJECTED, URGENT)))} || "
                f"{_weakened()}) || {_ALLOWED}",
                "message": f"only those with the verb {VERB} on {RESOURCE}.{GROUP} here may "
                "approve, reject, lift an approval, or call a source urgent",
                "reason": "Forbidden",
            },
            {
                "expression": f"!{_touched(APPROVED)} || variables.approved == '' || {_BY_ME}",
                "message": f"{APPROVED} is a content and your own name: `reroll approve` writes it",
                "reason": "Forbidden",
            },
            {
                "expression": f"!{_touched(REJECTED)} || variables.rejected == '' || {_NOT_BY_ME}",
                "message": f"{REJECTED} is a content, your own name and why: `reroll reject` "
                "writes it",
                "reason": "Forbidden",
            },
        ],
    }
    binding = {"policyName": name, "validationActions": ["Deny"]}
    return [
        _object(resources.VALIDATING_POLICIES, name, rules),
        _object(resources.VALIDATING_POLICY_BINDINGS, name, binding),
    ]


def _text(where: str, key: str) -> str:
    """What an annotation says in CEL; empty: nothing."""
    annotations = f"{where}.metadata.annotations"
    there = f"has({annotations}) && '{key}' in {annotations}"
    if where == "oldObject":
        there = f"oldObject != null && {there}"
    return f"({there} ? {annotations}['{key}'] : '')"


def _touched(key: str) -> str:
    return f"({_text('object', key)} != {_text('oldObject', key)})"


def _weakened() -> str:
    return f"({_touched(APPROVAL)} && {_text('oldObject', APPROVAL)} != '')"


def _any(parts: Iterable[str]) -> str:
    return "(" + " || ".join(parts) + ")"


def _rule(row: SourceKind) -> Manifest:
    return {
        "apiGroups": [row.group],
        "apiVersions": ["*"],
        "operations": ["CREATE", "UPDATE"],
        "resources": [row.plural],
    }


_ALLOWED = (
    f"authorizer.group('{GROUP}').resource('{RESOURCE}').namespace(object.metadata.namespace)"
    f".check('{VERB}').allowed()"
)
_ME = "request.userInfo.username"
_BY_ME = (
    f"(variables.approved.matches('^{CONTENT} by ') && "
    f"variables.approved.substring({32 + len(' by ')}) == {_ME})"
)
_NOT_BY_ME = (
    f"(variables.rejected.matches('^{CONTENT} by ') && "
    f"variables.rejected.substring({32 + len(' by ')}).startsWith({_ME} + ': '))"
)


def _object(resource: Resource, name: str, spec: Manifest) -> Manifest:
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": name, "labels": dict(LABELS)},
        "spec": spec,
    }
