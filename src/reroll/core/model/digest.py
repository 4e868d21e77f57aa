"""Content to digest: the only code that looks at values.

Every part is prefixed with its length and every list with its count, and kind, namespace, name and
key are part of the input, so that no two different inputs share bytes. Secrets are digested with a
key (HMAC), so that a stamp does not give a weak password away.
"""

import hashlib
import hmac
from collections.abc import Generator, Iterable, Mapping
from itertools import islice
from typing import TypeVar

import msgspec

from reroll.core.model.content import Content, Whole
from reroll.core.model.key import Key
from reroll.core.model.reference import Reference

ABSENT = "absent"
"""The digest of an optional source that does not exist."""
AWAITED = "awaited"
"""The digest of a required source that does not exist yet: pods start when it comes."""

_SIZE = 16
_SIZED = _SIZE.to_bytes(8, "big")
_PIECE = 500
T = TypeVar("T")
Pieces = Generator[None, None, T]
"""Work that can be left for a moment after each piece of it."""


def at_once(work: Pieces[T]) -> T:
    """What comes of the work, without a break."""
    while True:
        try:
            next(work)
        except StopIteration as done:
            result: T = done.value
            return result


def value_digests(values: Mapping[str, bytes], key: bytes | None) -> dict[str, bytes]:
    """A digest of each value; `key` makes it an HMAC."""
    if key is None:
        return {name: hashlib.sha256(value).digest()[:_SIZE] for name, value in values.items()}
    return {name: hmac.digest(key, value, "sha256")[:_SIZE] for name, value in values.items()}


def reference_digest(reference: Reference, content: Content, key_id: str) -> str | None:
    """The digest of what one workload uses of one source.

    `None` if the source was never digested with that HMAC key, or not the keys that are used. Of a
    source with very many keys the ones to leave out are part of it.
    """
    by_key = content.digests.get(key_id)
    if by_key is None and not content.sealed:
        by_key = content.digests.get("")
    if by_key is None or not content.knows(reference.all_keys):
        return None
    if content.wholes and reference.keys is None:
        return _whole(content, key_id).data
    used = by_key.keys() if reference.keys is None else reference.keys & by_key.keys()
    names = sorted(used - reference.without)
    return _digest(reference.source, ((name, by_key[name]) for name in names))


def content_digest(source: Key, content: Content, key_id: str) -> str | None:
    """The digest of all that a source holds, its type too.

    `None` if it was never digested with that HMAC key.
    """
    if content.sealed:
        key_id = ""  # One name for one content, whoever uses it.
    by_key = content.digests.get(key_id, content.digests.get(""))
    if by_key is None:
        return None
    if content.wholes:
        return _whole(content, key_id).content
    return _digest(source, [("", content.type.encode()), *sorted(by_key.items())])


def sealed(content: Content, keyring: Mapping[str, bytes]) -> Content:
    """A content without a key of its own, with digests that have one, for another namespace.

    Those who may not read a source could guess what it holds from a plain digest.
    """
    plain, whole = content.digests.get(""), content.wholes.get("")
    if plain is None:
        return content
    digests = {key_id: value_digests(plain, key) for key_id, key in keyring.items()}
    wholes = {}
    if whole is not None:
        for key_id, key in keyring.items():
            parts = (
                hmac.digest(key, text.encode(), "sha256") for text in (whole.data, whole.content)
            )
            wholes[key_id] = Whole(*(part.hex()[: 2 * _SIZE] for part in parts))
    return msgspec.structs.replace(
        content, digests=content.digests | digests, wholes=content.wholes | wholes, sealed=True
    )


def whole_digest(
    source: Key, type_: str, values: Mapping[str, bytes], key: bytes | None
) -> Pieces[Whole]:
    """What `reference_digest` and `content_digest` make of all keys, without a digest kept of any.

    In pieces: a source of a megabyte may have a hundred thousand keys.
    """
    head = b"".join(map(_prefixed, (part.encode() for part in source)))
    first = _prefixed(b"") + _prefixed(type_.encode())
    count = len(source) + 2 * len(values)
    data = hashlib.sha256(count.to_bytes(8, "big") + head)
    content = hashlib.sha256((count + 2).to_bytes(8, "big") + head + first)
    names = iter(sorted(values))
    while some := {name: values[name] for name in islice(names, _PIECE)}:
        pairs = value_digests(some, key).items()
        piece = b"".join(_prefixed(name.encode()) + _SIZED + value for name, value in pairs)
        data.update(piece)
        content.update(piece)
        yield
    return Whole(data.hexdigest()[: 2 * _SIZE], content.hexdigest()[: 2 * _SIZE])


def _prefixed(part: bytes) -> bytes:
    return len(part).to_bytes(8, "big") + part


def _whole(content: Content, key_id: str) -> Whole:
    return content.wholes.get(key_id) or content.wholes[""]


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
