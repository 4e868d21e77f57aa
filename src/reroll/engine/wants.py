"""What no watch brings and the reader has to fetch: one type for each kind of thing."""

import msgspec

from reroll.core.model.key import Key


class DigestKeys(msgspec.Struct, frozen=True, gc=False):
    """The HMAC keys for digests of Secrets."""


class NamespaceWorkloads(msgspec.Struct, frozen=True, gc=False):
    """All workloads of a namespace, because its annotations changed."""

    namespace: str


class WorkloadState(msgspec.Struct, frozen=True, gc=False):
    """One workload, because another object changed how it is treated."""

    key: Key


class GlobMatches(msgspec.Struct, frozen=True, gc=False):
    """The sources of a namespace by name, for the globs that match some of them."""

    kind: str
    namespace: str
    home: str
    """The namespace of the workloads with these globs."""


class MountReports(msgspec.Struct, frozen=True, gc=False):
    """What pods report to have mounted of a class."""

    key: Key


class CopyContent(msgspec.Struct, frozen=True, gc=False):
    """What a copy holds that we did not make."""

    key: Key


class SourceContent(msgspec.Struct, frozen=True, gc=False):
    key: Key
    asker: str = ""
    """The namespace whose workloads name it, where those of its own do not."""


Want = (
    DigestKeys
    | NamespaceWorkloads
    | WorkloadState
    | GlobMatches
    | MountReports
    | CopyContent
    | SourceContent
)


def share(want: Want) -> str:
    """The namespace that something is read for."""
    if isinstance(want, GlobMatches):
        return want.home
    if isinstance(want, NamespaceWorkloads):
        return want.namespace
    if isinstance(want, SourceContent):
        return want.asker or want.key.namespace
    return "" if isinstance(want, DigestKeys) else want.key.namespace
