"""Content to digest: the only code that looks at values.

Every part is prefixed with its length and every list with its count, and kind, namespace, name and
key are part of the input, so that no two different inputs share bytes. Secrets are digested with a
key (HMAC), so that a stamp does not give a weak password away.
"""

import hashlib
import hmac
from collections.abc import Iterable, Mapping

from reroll.core.model.content import Content
from reroll.core.model.key import Key
from reroll.core.model.reference import Reference

ABSENT = "absent"
"""The digest of an optional source that does not exist."""
AWAITED = "awaited"
"""The digest of a required source that does not exist yet: pods start when it comes."""

_SIZE = 16


def value_digests(values: Mapping[str, bytes], key: bytes | None) -> dict[str, bytes]:
    """A digest of each value; `key` makes it an HMAC."""
    if key is None:
        return {name: hashlib.sha256(value).digest()[:_SIZE] for name, value in values.items()}
    return {name: hmac.digest(key, value, "sha256")[:_SIZE] for name, value in values.items()}


def reference_digest(reference: Reference, content: Content, key_id: str) -> str | None:
    """The digest of what one workload uses of one source.

    `None` if the source was never digested with that HMAC key.
    """
    by_key = content.digests.get(key_id)
    if by_key is None:
        by_key = content.digests.get("")
    if by_key is None:
        return None
    used = by_key.keys() if reference.keys is None else reference.keys & by_key.keys()
    names = sorted(used - reference.without)
    return _digest(reference.source, ((name, by_key[name]) for name in names))


def content_digest(source: Key, content: Content, key_id: str) -> str | None:
    """The digest of all that a source holds, its type too.

    `None` if it was never digested with that HMAC key.
    """
    by_key = content.digests.get(key_id, content.digests.get(""))
    if by_key is None:
        return None
    return _digest(source, [("", content.type.encode()), *sorted(by_key.items())])


def stamp(digests: Mapping[str, str]) -> str:
    """One value for all sources of a workload: what is written where it makes the workload roll."""
    return _hash(
        part for entry in sorted(digests) for part in (entry.encode(), digests[entry].encode())
    )


def _digest(source: Key, values: Iterable[tuple[str, bytes]]) -> str:
    parts = [part.encode() for part in source]
    for name, digest in values:
        parts += (name.encode(), digest)
    return _hash(parts)


def _hash(parts: Iterable[bytes]) -> str:
    parts = list(parts)
    state = hashlib.sha256(len(parts).to_bytes(8, "big"))
    for part in parts:
        state.update(len(part).to_bytes(8, "big"))
        state.update(part)
    return state.hexdigest()[: 2 * _SIZE]
