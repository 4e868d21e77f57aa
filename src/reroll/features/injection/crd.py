"""The CustomResourceDefinition of an Injection: one row for each field, rule and column.

deploy/crds and docs/reference/injection.md are generated from it; tests compare.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from reroll.core.model.fieldpaths import LONGEST
from reroll.core.model.injection import GROUP, KIND, PLURAL, SOURCES, UNWRITABLE, VERSION
from reroll.features.injection.decide import CONDITIONS

Schema = dict[str, Any]
MOST_KEYS = 16
LONGEST_TEMPLATE = 8192


class Field(NamedTuple):
    """One field; `[]` in its path stands for the items of a list."""

    path: str
    schema: Schema
    required: bool

    @property
    def parent(self) -> str:
        return "" if self.path.endswith("[]") else self.path.rpartition(".")[0]

    @property
    def name(self) -> str:
        return self.path.rpartition(".")[2]


def _optional(path: str, description: str, type_: str = "string", **limits: Any) -> Field:
    return Field(path, {"type": type_, "description": description, **limits}, required=False)


def _required(path: str, description: str, type_: str = "string", **limits: Any) -> Field:
    return _optional(path, description, type_, **limits)._replace(required=True)


_NAME: Schema = {"minLength": 1, "maxLength": 253}
_NAMESPACE: Schema = {"maxLength": 63, "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"}
_API_VERSION: Schema = {
    "maxLength": 253,
    "pattern": r"^([-.a-z0-9]+/)?v[0-9]+((alpha|beta)[0-9]+)?$",
}
_VARIABLE: Schema = {"pattern": "^[a-zA-Z_][a-zA-Z0-9_]*$", "maxLength": 63}
_ATOMIC = {"x-kubernetes-list-type": "atomic"}
_BY_TYPE: Schema = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}

# fmt: off
_FIELDS = (
    _required("spec", "What to put where.", "object"),
    _required("spec.from", "The keys that the value is made from; several need a template.", "array", minItems=1, maxItems=MOST_KEYS, **_ATOMIC),
    _required("spec.from[]", "One key of a ConfigMap or Secret.", "object"),
    _optional("spec.from[].kind", "Kind of the source.", enum=list(SOURCES), default="Secret"),
    _required("spec.from[].name", "Name of the source.", **_NAME),
    _required("spec.from[].key", "Key in its `data` (or `binaryData`).", **_NAME, pattern="^[-._a-zA-Z0-9]+$"),
    _optional("spec.from[].namespace", "Namespace of the source, if it is another one; the source must allow it with the annotation `reroll.dev/injection-readers`.", **_NAMESPACE),
    _optional("spec.from[].variable", "Its name in the template; by default the key, with `_` for what a name cannot contain.", **_VARIABLE),
    _required("spec.to", "One field of one object.", "object"),
    _required("spec.to.apiVersion", "API of the object, e.g. `goharbor.io/v1beta1`.", **_API_VERSION),
    _required("spec.to.kind", "Kind of the object.", maxLength=63, pattern="^[A-Z][a-zA-Z0-9]*$"),
    _required("spec.to.name", "Name of the object.", **_NAME),
    _optional("spec.to.namespace", "Namespace of the object, if it is another one; the object must allow it with the annotation `reroll.dev/injection-writers`, and so must a cluster-scoped one.", **_NAMESPACE),
    _required("spec.to.path", 'Where the value is put: names, indexes and filters, e.g. `.spec.env[?(@.name=="KEY")].value`.', minLength=1, maxLength=LONGEST),
    _optional("spec.template", "A Jinja2 template over the keys. Without one, the value is that of the one key.", minLength=1, maxLength=LONGEST_TEMPLATE),
    _optional("spec.encoding", "How the text becomes a value: `string`, as it is; `base64`, for any bytes; `json`, parsed, so that it can be a number, a list or an object.", enum=["string", "base64", "json"], default="string"),
    _optional("spec.dryRun", "Write nothing; the status says what would be written and whether the API server would accept it. Values are not shown.", "boolean", default=False),
    _optional("spec.deletionPolicy", "What happens to the value when the Injection is deleted: `Keep` leaves it, `Remove` gives the field back.", enum=["Keep", "Remove"], default="Keep"),

    _optional("status", "What the controller observed.", "object"),
    _optional("status.observedGeneration", "The generation of the spec that the status describes.", "integer", format="int64"),
    _optional("status.conditions", "Whether the value is in place and, if not, why.", "array", **_BY_TYPE),
    _optional("status.conditions[]", "As in every Kubernetes object.", "object"),
    _required("status.conditions[].type", f"One of {', '.join(CONDITIONS)}."),
    _required("status.conditions[].status", "Whether the condition is true.", enum=["True", "False", "Unknown"]),
    _required("status.conditions[].reason", "One word; see the reference of reasons."),
    _required("status.conditions[].message", "A sentence. Never a value."),
    _required("status.conditions[].lastTransitionTime", "When `status` last changed.", format="date-time"),
    _optional("status.conditions[].observedGeneration", "The generation of the spec that the condition describes.", "integer", format="int64"),
    _optional("status.target", "Where the value was put last.", "object"),
    _required("status.target.apiVersion", "API of the object."),
    _required("status.target.kind", "Kind of the object."),
    _optional("status.target.namespace", "Namespace of the object."),
    _required("status.target.name", "Name of the object."),
    _optional("status.target.uid", "UID of the object."),
    _required("status.target.path", "The field."),
    _optional("status.digest", "A keyed digest of the value that was put there; it reveals none."),
    _optional("status.written", "When it was put there.", format="date-time"),
    _optional("status.takenBack", "How often this value has been overwritten or removed.", "integer"),
)

_RULES = (
    # the field, the rule, the message of a refusal
    ("spec", "has(self.template) || size(self.from) == 1", "several keys need a template"),
    ("spec", "self.from.all(a, !has(a.variable) || self.from.exists_one(b, has(b.variable) && b.variable == a.variable))", "two keys have the same variable"),
    ("spec.to", r"!self.path.matches('^\\s*[{]?[$]?[.]?(metadata|status|apiVersion|kind)([.\\[}]|$)')", UNWRITABLE),
)

_READY = '.status.conditions[?(@.type=="Ready")]'
_COLUMNS: tuple[Schema, ...] = (
    {"name": "Kind", "type": "string", "jsonPath": ".spec.to.kind"},
    {"name": "Target", "type": "string", "jsonPath": ".spec.to.name"},
    {"name": "Ready", "type": "string", "jsonPath": f"{_READY}.status"},
    {"name": "Reason", "type": "string", "jsonPath": f"{_READY}.reason"},
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    {"name": "Path", "type": "string", "jsonPath": ".spec.to.path", "priority": 1},
    {"name": "Message", "type": "string", "jsonPath": f"{_READY}.message", "priority": 1},
)
# fmt: on


def manifest() -> dict[str, Any]:
    """The CustomResourceDefinition."""
    names = {"kind": KIND, "listKind": f"{KIND}List", "plural": PLURAL, "singular": KIND.lower()}
    version = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "additionalPrinterColumns": list(_COLUMNS),
        "schema": {"openAPIV3Schema": _root()},
    }
    labels = {"app.kubernetes.io/name": "reroll"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{PLURAL}.{GROUP}", "labels": labels},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {**names, "categories": ["reroll"]},
            "versions": [version],
        },
    }


def rules() -> list[dict[str, str]]:
    """What is checked beside the types."""
    return [{"rule": rule, "message": message} for _, rule, message in _RULES]


def fields() -> Iterator[tuple[str, Schema, bool]]:
    """Every field of spec and status: path, schema, whether it is required."""
    return ((f.path, f.schema, f.required) for f in _FIELDS if f.parent)


def _root() -> Schema:
    return {
        "type": "object",
        "description": "Keeps a piece of Secrets and ConfigMaps in a field of another object.",
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": _nested("spec"),
            "status": _nested("status"),
        },
        "required": ["spec"],
    }


def _nested(path: str) -> Schema:
    """The schema of a field with all that is below it."""
    schemas = {field.path: field.schema for field in _FIELDS}
    children = [field for field in _FIELDS if field.parent == path]
    rules = [{"rule": rule, "message": message} for of, rule, message in _RULES if of == path]
    parts = {
        "properties": {field.name: _nested(field.path) for field in children},
        "required": [field.name for field in children if field.required],
        "items": _nested(f"{path}[]") if f"{path}[]" in schemas else {},
        "x-kubernetes-validations": rules,
    }
    return schemas[path] | {key: part for key, part in parts.items() if part}
