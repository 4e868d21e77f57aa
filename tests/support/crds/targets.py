"""Kinds that Injections write to, with the shapes that matter of them."""

from typing import Any

Schema = dict[str, Any]
TEXT: Schema = {"type": "string"}


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties}


def _list(item: Schema, **more: Any) -> Schema:
    return {"type": "array", "items": item, **more}


_ITEM = {**_object(name=TEXT, value=TEXT, secret=TEXT), "required": ["name"]}
_BY_NAME = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
_ANYTHING: Schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def definition(
    group: str, kind: str, spec: Schema, *versions: str, scope: str = "Namespaced"
) -> dict[str, Any]:
    """A CRD that serves these versions; the last is the one that is stored."""
    schema = {**_object(spec=spec, status=_ANYTHING), "required": ["spec"]}
    plural = f"{kind.lower()}s"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": scope,
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": version == versions[-1],
                    "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": schema},
                }
                for version in versions
            ],
        },
    }


# Harbor's operator: the S3 access key is a plain field of the spec, the secret key a reference.
HARBOR_CLUSTER = definition(
    "goharbor.io",
    "HarborCluster",
    {
        **_object(
            externalURL={"type": "string", "pattern": "https?://.*"},
            harborAdminPasswordRef=TEXT,
            version=TEXT,
            expose=_ANYTHING,
            cache=_ANYTHING,
            database=_ANYTHING,
            storage={
                **_object(
                    kind={"type": "string", "enum": ["MinIO", "S3", "Swift", "FileSystem"]},
                    spec=_object(
                        s3={
                            **_object(
                                accesskey=TEXT,
                                secretkeyRef=TEXT,
                                region=TEXT,
                                regionendpoint=TEXT,
                                bucket=TEXT,
                                encrypt={"type": "boolean"},
                            ),
                            "required": ["region", "bucket"],
                        }
                    ),
                ),
                "required": ["kind", "spec"],
            },
        ),
        "required": ["externalURL", "storage"],
    },
    "v1beta1",
)

# One field of every sort that a path can lead to.
GADGET_SPEC = _object(
    token={"type": "string", "maxLength": 200},
    mode={"type": "string", "enum": ["fast", "slow"]},
    replicas={"type": "integer"},
    nested=_object(token=TEXT, other=TEXT),
    atom={**_object(a=TEXT, b=TEXT), "x-kubernetes-map-type": "atomic"},
    plain=_list(_ITEM),
    keyed=_list(_ITEM, **_BY_NAME),
    free=_ANYTHING,
)
GADGET = definition("example.com", "Gadget", GADGET_SPEC, "v1")
FLEET = definition("example.com", "Fleet", GADGET_SPEC, "v1", scope="Cluster")
