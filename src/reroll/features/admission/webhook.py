"""Our webhook: it answers the API server with the patch that a pinned pod needs.

The answer is made of the request alone, so every replica can give it, leader or not, and nothing is
looked up. What cannot be read is refused with 400, and the API server does not make that pod.

Anyone who reaches the port may ask, unless a client certificate is asked for. So a request becomes
no more in memory than the few fields that matter, and limits hold for those too.
"""

import base64
import os
import ssl
import tempfile
from itertools import islice
from pathlib import Path
from typing import IO, Any

import msgspec

from reroll.core.model.unreadable import UNREADABLE
from reroll.core.revisions.pinned_spec import PinnedSpec
from reroll.core.revisions.pins import PINS, read_pins, rewrites
from reroll.core.write.patches import pointer
from reroll.engine.admission_objects import PATH
from reroll.features.admission.certificates import Pem
from reroll.http import server
from reroll.http.server import Asked, Reply, routes
from reroll.kube.errors import ConfigError

LARGEST = 3 * 2**20
"""Bytes of a request: what the API server itself takes; etcd holds no pod of half the size."""
LONGEST = 256 * 2**10
"""Characters of the annotation with the pins: what Kubernetes allows all annotations together."""
MOST_OBJECTS = 250_000
"""Opening braces of a request: each may become an object in memory that is larger than its text."""
MOST_REWRITES = 10_000
"""Fields of one pod that are rewritten."""
_PAIR = "reroll-webhook"


class _Annotations(msgspec.Struct, gc=False):
    pins: str = msgspec.field(default="", name=PINS)


class _Metadata(msgspec.Struct, gc=False):
    annotations: _Annotations | None = None


class _Pod(msgspec.Struct, gc=False):
    metadata: _Metadata | None = None
    spec: PinnedSpec = msgspec.field(default_factory=PinnedSpec)


class _Asked(msgspec.Struct, gc=False):
    uid: str
    object: _Pod


class _Review(msgspec.Struct, gc=False):
    request: _Asked


class _Operation(msgspec.Struct, gc=False, tag="replace", tag_field="op"):
    path: str
    value: str


class TooLargeError(ValueError):
    """A pod that no cluster has."""


_decoder = msgspec.json.Decoder(_Review)


def answer(body: bytes) -> bytes:
    """The answer to an AdmissionReview; raises `msgspec.DecodeError` if it is none.

    Raises `TooLargeError` if it would take more memory than a pod is worth.
    """
    if body.count(b"{") > MOST_OBJECTS:
        raise TooLargeError(f"it has more than {MOST_OBJECTS} objects")
    asked = _decoder.decode(body).request
    response: dict[str, Any] = {"uid": asked.uid, "allowed": True}
    if operations := patch(asked.object):
        encoded = base64.b64encode(msgspec.json.encode(operations)).decode()
        response |= {"patchType": "JSONPatch", "patch": encoded}
    return msgspec.json.encode(
        {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
    )


def patch(pod: _Pod) -> list[_Operation]:
    """What has to change in a pod so that it uses the copies that its pins name."""
    annotations = pod.metadata and pod.metadata.annotations
    text = annotations.pins if annotations else ""
    if len(text) > LONGEST:
        raise TooLargeError(f"its annotation {PINS} has more than {LONGEST} characters")
    needed = islice(rewrites(pod.spec, read_pins(text)), MOST_REWRITES + 1) if text else ()
    operations = [_Operation(pointer("spec", *one.steps), one.copy) for one in needed]
    if len(operations) > MOST_REWRITES:
        raise TooLargeError(f"its pins affect more than {MOST_REWRITES} fields")
    return operations


class Server:
    """Listens with TLS; `show` changes the certificate for connections to come.

    With `client_ca`, a file, a caller has to show a certificate of an authority in it.
    """

    def __init__(self, address: str, client_ca: str = "") -> None:
        self._client_ca = client_ca
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._shown: tuple[str, str] = ("", "")
        answers = routes({("POST", PATH): _answer})
        self._server = server.Server(address, answers, trust=lambda: self._context, largest=LARGEST)

    async def start(self) -> None:
        """Listen; raises `OSError` if the address is taken."""
        await self._server.start()

    @property
    def port(self) -> int:
        return self._server.port

    async def stop(self) -> None:
        await self._server.stop()

    def show(self, pair: Pem) -> bool:
        """Whether it is another certificate than before, or another authority of callers.

        Raises `ConfigError` if the file with the authorities of callers cannot be used.
        """
        shown = (pair.certificate, _authorities(self._client_ca))
        if shown == self._shown:
            return False
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        with _file() as file:
            file.write(f"{pair.certificate}\n{pair.key}\n".encode())
            file.flush()
            context.load_cert_chain(f"/dev/fd/{file.fileno()}")
        if self._client_ca:
            context.verify_mode = ssl.CERT_REQUIRED
            try:
                context.load_verify_locations(cadata=shown[1])
            except (ssl.SSLError, ValueError):
                raise _unusable(self._client_ca, "it holds no certificates in PEM") from None
        self._context, self._shown = context, shown
        return True


def _authorities(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii") if path else ""
    except OSError as error:
        raise _unusable(path, error.strerror or "it cannot be read") from None
    except ValueError:
        raise _unusable(path, "it holds no certificates in PEM") from None


def _unusable(path: str, why: str) -> ConfigError:
    return ConfigError(f"--webhook-client-ca: {path}: {why}")


def _file() -> IO[bytes]:
    """The `ssl` module reads files only, and in a container no file system may be written."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create(_PAIR), "wb")
    return tempfile.TemporaryFile(prefix=_PAIR)


def _answer(asked: Asked) -> Reply:
    try:
        return Reply(body=answer(asked.body), content_type="application/json")
    except UNREADABLE:
        return Reply(400, b"this is no AdmissionReview of a pod\n")
    except TooLargeError as error:
        return Reply(413, f"this pod is too large to be rewritten: {error}\n".encode())
