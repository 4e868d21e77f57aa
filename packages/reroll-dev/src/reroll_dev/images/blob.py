"""A blob of an image: bytes at a place in a file, known by their digest."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reroll_dev.errors import DevClusterError

MEDIA = "application/vnd.oci.image"
Json = dict[str, Any]

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Blob:
    media: str
    digest: str
    size: int
    path: Path
    offset: int = 0

    @property
    def descriptor(self) -> Json:
        return {"mediaType": self.media, "digest": self.digest, "size": self.size}

    @property
    def name(self) -> str:
        """Its path in a layout."""
        return f"blobs/{self.digest.replace(':', '/')}"

    def chunks(self) -> Iterator[bytes]:
        """Its bytes; refuses those that are not what the digest says."""
        seen, rest = hashlib.sha256(), self.size
        with self.path.open("rb") as file:
            file.seek(self.offset)
            while rest and (chunk := file.read(min(rest, _CHUNK))):
                seen.update(chunk)
                rest -= len(chunk)
                yield chunk
        if rest or self.digest != f"sha256:{seen.hexdigest()}":
            raise DevClusterError(
                f"{self.path} is damaged: what it holds as {self.digest} is something else; "
                "make or copy it again"
            )

    def check(self) -> None:
        """Refuse bytes that are not what the digest says."""
        for _ in self.chunks():
            pass

    def json(self) -> Json:
        content: Json = json.loads(b"".join(self.chunks()))
        return content


def document(content: Json) -> bytes:
    """The same content gives the same bytes."""
    return json.dumps(content, separators=(",", ":"), sort_keys=True).encode()


def digest_of(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
