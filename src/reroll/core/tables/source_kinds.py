"""The table of source kinds: what is watched of each, and what of it is content."""

from enum import StrEnum

import msgspec

from reroll.core.tables.kinds import Path, api_kind


class Watched(StrEnum):
    """How a kind of source is followed."""

    WHOLE = "whole"
    """Its content is in the watch, hashed as it streams by."""
    METADATA = "metadata"
    """Only its metadata is watched; the content is fetched if an opted-in workload refers to it."""
    STATUSES = "statuses"
    """Other objects tell which versions of it pods have mounted."""


class SourceKind(msgspec.Struct, frozen=True):
    """One kind of source."""

    name: str
    """As that of a `Kind`. It is a part of records and digests, so it never changes."""
    group: str
    version: str
    plural: str
    aliases: tuple[str, ...]
    """What people may write in an annotation; the first is what we write."""
    watched: Watched
    keyed: bool = False
    """Its digests are made with the HMAC key."""
    watched_plural: str = ""
    paths: tuple[Path, ...] = ()
    """What of it is content, each path a key; none: `data` and `binaryData`."""

    @property
    def plural_to_watch(self) -> str:
        return self.watched_plural or self.plural

    @property
    def kind(self) -> str:
        return api_kind(self.name)


SOURCE_KINDS: tuple[SourceKind, ...] = (
    SourceKind(
        "ConfigMap", "", "v1", "configmaps", ("configmap", "configmaps", "cm"), Watched.WHOLE,
    ),
    SourceKind(
        "Secret", "", "v1", "secrets", ("secret", "secrets"), Watched.METADATA, keyed=True,
    ),
    SourceKind(
        "SecretProviderClass", "secrets-store.csi.x-k8s.io", "v1", "secretproviderclasses",
        ("secretproviderclass", "secretproviderclasses", "spc"), Watched.STATUSES,
        watched_plural="secretproviderclasspodstatuses",
    ),
)  # fmt: skip
CONFIGS = tuple(row for row in SOURCE_KINDS if not row.group)
"""ConfigMap and Secret."""
