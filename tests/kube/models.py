"""The types that tests of this layer watch."""

import msgspec


class Meta(msgspec.Struct, rename="camel"):
    name: str
    resource_version: str
    namespace: str = ""
    annotations: dict[str, str] | None = None


class ConfigMap(msgspec.Struct):
    metadata: Meta
    data: dict[str, str] | None = None


class Partial(msgspec.Struct):
    """Metadata only; `data` is here to see that it never comes."""

    metadata: Meta
    data: dict[str, str] | None = None
