"""The CustomResourceDefinition of an Injection: schema, rules and columns, written once.

deploy/crds and docs/reference/injection.md are made from it; tests compare.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from reroll.core.model.fieldpaths import LONGEST
from reroll.core.model.injection import GROUP, KIND, PLURAL, SOURCES, VERSION
from reroll.features.injection.decide import CONDITIONS

Schema = dict[str, Any]
MOST_KEYS = 16
LONGEST_TEMPLATE = 8192
_NAME = {"type": "string", "minLength": 1, "maxLength": 253}
_NAMESPACE = {"type": "string", "maxLength": 63, "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"}


def _object(description: str, required: tuple[str, ...] = (), **properties: Schema) -> Schema:
    named = {name.rstrip("_"): schema for name, schema in properties.items()}
    schema: Schema = {"type": "object", "description": description, "properties": named}
    return {**schema, "required": list(required)} if required else schema


def _field(schema: Schema, description: str, **more: Any) -> Schema:
    return {**schema, "description": description, **more}


def _text(description: str, **more: Any) -> Schema:
    return {"type": "string", "description": description, **more}


def _rule(rule: str, message: str) -> dict[str, str]:
    return {"rule": rule, "message": message}


_FROM = _object(
    "One key of a ConfigMap or Secret.",
    ("name", "key"),
    kind=_text("Kind of the source.", enum=list(SOURCES), default="Secret"),
    name=_field(_NAME, "Name of the source."),
    key=_field(
        {"type": "string", "minLength": 1, "maxLength": 253, "pattern": "^[-._a-zA-Z0-9]+$"},
        "Key in its `data` (or `binaryData`).",
    ),
    namespace=_field(
        _NAMESPACE,
        "Namespace of the source, if it is another one; the source must allow it with the "
        "annotation `reroll.dev/allow-from`.",
    ),
    variable=_text(
        "What the template calls it; without one, the key with `_` for what no name may hold.",
        pattern="^[a-zA-Z_][a-zA-Z0-9_]*$",
        maxLength=63,
    ),
)

_TO = {
    **_object(
        "One field of one object.",
        ("apiVersion", "kind", "name", "path"),
        apiVersion=_text(
            "API of the object, e.g. `goharbor.io/v1beta1`.",
            maxLength=253,
            pattern=r"^([-.a-z0-9]+/)?v[0-9]+((alpha|beta)[0-9]+)?$",
        ),
        kind=_text("Kind of the object.", maxLength=63, pattern="^[A-Z][a-zA-Z0-9]*$"),
        name=_field(_NAME, "Name of the object."),
        namespace=_field(
            _NAMESPACE,
            "Namespace of the object, if it is another one; the object must allow it with the "
            "annotation `reroll.dev/allow-from`, and so must one that is in no namespace.",
        ),
        path=_text(
            "Where the value is put: names, indexes and filters, e.g. "
            '`.spec.env[?(@.name=="KEY")].value`.',
            minLength=1,
            maxLength=LONGEST,
        ),
    ),
    "x-kubernetes-validations": [
        _rule(
            r"!self.path.matches('^\\s*[{]?[$]?[.]?(metadata|status|apiVersion|kind)([.\\[}]|$)')",
            "a value can be put anywhere but into metadata and status",
        )
    ],
}

_SPEC = {
    **_object(
        "What to put where.",
        ("from", "to"),
        from_={
            "type": "array",
            "description": "The keys that the value is made from; several need a template.",
            "minItems": 1,
            "maxItems": MOST_KEYS,
            "x-kubernetes-list-type": "atomic",
            "items": _FROM,
        },
        to=_TO,
        template=_text(
            "A Jinja2 template over the keys. Without one, the value is that of the one key.",
            minLength=1,
            maxLength=LONGEST_TEMPLATE,
        ),
        encoding=_text(
            "How the text becomes a value: `string`, as it is; `base64`, which any bytes can be; "
            "`json`, parsed, so that it can be a number, a list or an object.",
            enum=["string", "base64", "json"],
            default="string",
        ),
        dryRun={
            "type": "boolean",
            "description": "Write nothing, and tell in the status what would be written and "
            "whether the API server would take it. Values are not shown.",
            "default": False,
        },
        deletionPolicy=_text(
            "What becomes of the value when the Injection is deleted: `Keep` leaves it, `Remove` "
            "gives the field back.",
            enum=["Keep", "Remove"],
            default="Keep",
        ),
    ),
    "x-kubernetes-validations": [
        _rule("has(self.template) || size(self.from) == 1", "several keys need a template"),
        _rule(
            "self.from.all(a, !has(a.variable) || "
            "self.from.exists_one(b, has(b.variable) && b.variable == a.variable))",
            "two keys have the same variable",
        ),
    ],
}

_CONDITION = _object(
    "As in every Kubernetes object.",
    ("type", "status", "reason", "message", "lastTransitionTime"),
    type=_text(f"One of {', '.join(CONDITIONS)}."),
    status=_text("Whether it holds.", enum=["True", "False", "Unknown"]),
    reason=_text("A word, see the reference of reasons."),
    message=_text("A sentence. Never a value."),
    lastTransitionTime=_text("Since when `status` is so.", format="date-time"),
    observedGeneration={
        "type": "integer",
        "format": "int64",
        "description": "The spec it is about.",
    },
)

_STATUS = _object(
    "What became of it.",
    observedGeneration={
        "type": "integer",
        "format": "int64",
        "description": "The generation of the spec that this is about.",
    },
    conditions={
        "type": "array",
        "description": "Whether it holds, and if not, why.",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": _CONDITION,
    },
    target=_object(
        "Where the value was put last.",
        ("apiVersion", "kind", "name", "path"),
        apiVersion=_text("API of the object."),
        kind=_text("Kind of the object."),
        namespace=_text("Namespace of the object."),
        name=_text("Name of the object."),
        uid=_text("The very object."),
        path=_text("The field."),
    ),
    digest=_text("A keyed digest of the value that was put there, which does not give it away."),
    written=_text("When it was put there.", format="date-time"),
    takenBack={
        "type": "integer",
        "description": "How often somebody else has written over this value.",
    },
)


class Column(NamedTuple):
    """What `kubectl get injections` shows."""

    name: str
    path: str
    type: str = "string"
    priority: int = 0

    @property
    def manifest(self) -> dict[str, Any]:
        shown = {"name": self.name, "type": self.type, "jsonPath": self.path}
        return {**shown, "priority": self.priority} if self.priority else shown


_READY = '.status.conditions[?(@.type=="Ready")]'
COLUMNS = (
    Column("Kind", ".spec.to.kind"),
    Column("Target", ".spec.to.name"),
    Column("Ready", f"{_READY}.status"),
    Column("Reason", f"{_READY}.reason"),
    Column("Age", ".metadata.creationTimestamp", "date"),
    Column("Path", ".spec.to.path", priority=1),
    Column("Message", f"{_READY}.message", priority=1),
)


def manifest() -> dict[str, Any]:
    """The CustomResourceDefinition."""
    schema = _object("A piece of Secrets and ConfigMaps, kept in a field of another object.")
    schema["properties"] = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
        "spec": _SPEC,
        "status": _STATUS,
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{PLURAL}.{GROUP}",
            "labels": {"app.kubernetes.io/name": "reroll"},
        },
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": KIND,
                "listKind": f"{KIND}List",
                "plural": PLURAL,
                "singular": KIND.lower(),
                "categories": ["reroll"],
            },
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": [column.manifest for column in COLUMNS],
                    "schema": {"openAPIV3Schema": {**schema, "required": ["spec"]}},
                }
            ],
        },
    }


def rules() -> list[dict[str, str]]:
    """What is checked beside the types."""
    return [*_SPEC["x-kubernetes-validations"], *_TO["x-kubernetes-validations"]]


def fields(schema: Schema | None = None, path: str = "") -> Iterator[tuple[str, Schema, bool]]:
    """Every field below a schema, of spec and status: path, schema, whether it is required."""
    if schema is None:
        yield from fields(_SPEC, "spec")
        yield from fields(_STATUS, "status")
        return
    for name, each in schema.get("properties", {}).items():
        where = f"{path}.{name}"
        yield where, each, name in schema.get("required", ())
        items = each.get("items", {})
        yield from fields(items or each, f"{where}[]" if items else where)
