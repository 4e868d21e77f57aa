"""Our webhook: it answers the API server with the patch that a pinned pod needs.

The answer is made of the request alone, so every replica can give it, leader or not, and nothing is
looked up. What cannot be read is refused with 400, and the API server does not make that pod.
"""

import base64
import os
import ssl
from typing import Any

import msgspec
from aiohttp import web

from reroll.core.patches import pointer
from reroll.core.rewrite import rewrites
from reroll.features.pins.certificates import Pem
from reroll.features.pins.manifests import PATH
from reroll.features.pins.pinned import of_template

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
        for found in rewrites(pod["spec"], pinned.pins)
    ]


class Server:
    """Listens with TLS; `show` changes the certificate for connections to come."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._host, self._port = host.strip("[]") or None, int(port)
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.minimum_version = ssl.TLSVersion.TLSv1_2
        self._shown = ""
        app = web.Application(client_max_size=LARGEST)
        app.router.add_post(PATH, _answer)
        self._runner = web.AppRunner(app, access_log=None)

    async def start(self) -> None:
        """Listen; raises `OSError` if the address is taken."""
        await self._runner.setup()
        await web.TCPSite(self._runner, self._host, self._port, ssl_context=self._context).start()

    async def stop(self) -> None:
        await self._runner.cleanup()

    def show(self, pair: Pem) -> bool:
        """Whether it is another certificate than before."""
        if pair.certificate == self._shown:
            return False
        # The `ssl` module reads files only, and the root file system may be read-only.
        with os.fdopen(os.memfd_create(_PAIR), "wb") as file:
            file.write(f"{pair.certificate}\n{pair.key}\n".encode())
            file.flush()
            self._context.load_cert_chain(f"/proc/self/fd/{file.fileno()}")
        self._shown = pair.certificate
        return True


async def _answer(request: web.Request) -> web.Response:
    try:
        return web.Response(body=answer(await request.read()), content_type="application/json")
    except msgspec.DecodeError:
        return web.Response(text="this is no AdmissionReview of a pod\n", status=400)
