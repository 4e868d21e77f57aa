"""Our webhook: it answers the API server with the patch that a pinned pod needs.

The answer is made of the request alone, so every replica can give it, leader or not, and nothing is
looked up. What cannot be read is refused with 400, and the API server does not make that pod.
"""

import base64
import os
import ssl
import tempfile
from typing import IO, Any

import msgspec

from reroll.core.model.unreadable import UNREADABLE
from reroll.core.revisions.pins import rewrites
from reroll.core.revisions.templates import of_template
from reroll.core.write.patches import pointer
from reroll.engine.admission_objects import PATH
from reroll.features.admission.certificates import Pem
from reroll.http import server
from reroll.http.server import Asked, Reply, routes

LARGEST = 8 * 2**20
"""Bytes of a request; etcd holds no pod that is larger than a fifth of it."""
_PAIR = "reroll-webhook"


class _Asked(msgspec.Struct):
    uid: str
    object: dict[str, Any]


class _Review(msgspec.Struct):
    request: _Asked


_decoder = msgspec.json.Decoder(_Review)


def answer(body: bytes) -> bytes:
    """The answer to an AdmissionReview; raises `msgspec.DecodeError` if it is none."""
    asked = _decoder.decode(body).request
    response: dict[str, Any] = {"uid": asked.uid, "allowed": True}
    if operations := patch(asked.object):
        encoded = base64.b64encode(msgspec.json.encode(operations)).decode()
        response |= {"patchType": "JSONPatch", "patch": encoded}
    return msgspec.json.encode(
        {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
    )


def patch(pod: dict[str, Any]) -> list[dict[str, Any]]:
    """What has to change in a pod so that it uses the copies that its pins name."""
    pinned = of_template(pod)
    if pinned is None:
        return []
    return [
        {"op": "replace", "path": pointer("spec", *found.steps), "value": found.copy}
        for found in rewrites(pod.get("spec") or {}, pinned.pins)
    ]


class Server:
    """Listens with TLS; `show` changes the certificate for connections to come."""

    def __init__(self, address: str) -> None:
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.minimum_version = ssl.TLSVersion.TLSv1_2
        self._shown = ""
        answers = routes({("POST", PATH): _answer})
        self._server = server.Server(address, answers, trust=self._context, largest=LARGEST)

    async def start(self) -> None:
        """Listen; raises `OSError` if the address is taken."""
        await self._server.start()

    async def stop(self) -> None:
        await self._server.stop()

    def show(self, pair: Pem) -> bool:
        """Whether it is another certificate than before."""
        if pair.certificate == self._shown:
            return False
        with _file() as file:
            file.write(f"{pair.certificate}\n{pair.key}\n".encode())
            file.flush()
            self._context.load_cert_chain(f"/dev/fd/{file.fileno()}")
        self._shown = pair.certificate
        return True


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
