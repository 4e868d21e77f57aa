"""An artifact in a registry, as `flux push artifact` puts one there, for tools that pull it."""

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

TAG = "latest"
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_CONFIG = "application/vnd.cncf.flux.config.v1+json"
_CONTENT = "application/vnd.cncf.flux.content.v1.tar+gzip"
_CREATED = "2026-01-01T00:00:00Z"


class Registry:
    """One repository with one tag; pushed again, it has something else."""

    def __init__(self) -> None:
        self.url = ""
        self._blobs: dict[str, bytes] = {}
        self._tagged = b""

    def push(self, folder: Path) -> str:
        """The folder's files become the artifact; its digest."""
        layers = [self._keep(_CONTENT, _packed(folder))]
        manifest = {
            "schemaVersion": 2,
            "mediaType": _MANIFEST,
            "config": self._keep(_CONFIG, b"{}"),
            "layers": layers,
            "annotations": {"org.opencontainers.image.created": _CREATED},
        }
        self._tagged = json.dumps(manifest).encode()
        return self._digest(self._tagged)

    def find(self, path: str) -> tuple[str, bytes] | None:
        """Type and content of what a request names."""
        kind, _, name = path.rstrip("/").removeprefix("/v2").removeprefix("/app/").partition("/")
        if not kind:
            return "application/json", b"{}"
        if kind == "manifests" and name in {TAG, self._digest(self._tagged)}:
            return _MANIFEST, self._tagged
        blob = self._blobs.get(name)
        return None if blob is None else ("application/octet-stream", blob)

    @contextmanager
    def served(self) -> Iterator[None]:
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Pull, self))
        server.daemon_threads = True
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        self.url = f"oci://127.0.0.1:{server.server_address[1]}/app"
        try:
            yield
        finally:
            server.shutdown()
            server.server_close()
            thread.join()

    def _keep(self, kind: str, content: bytes) -> dict[str, Any]:
        digest = self._digest(content)
        self._blobs[digest] = content
        return {"mediaType": kind, "size": len(content), "digest": digest}

    @staticmethod
    def _digest(content: bytes) -> str:
        return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _packed(folder: Path) -> bytes:
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as archive:
        for path in sorted(folder.iterdir()):
            archive.add(path, path.name)
    return gzip.compress(tar.getvalue(), mtime=0)


class _Pull(BaseHTTPRequestHandler):
    def __init__(self, registry: Registry, *arguments: Any) -> None:
        self._registry = registry
        super().__init__(*arguments)

    def do_GET(self) -> None:
        self.wfile.write(self._answer())

    def do_HEAD(self) -> None:
        self._answer()

    def _answer(self) -> bytes:
        found = self._registry.find(self.path)
        kind, content = found or ("application/json", b'{"errors": []}')
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Docker-Content-Digest", Registry._digest(content))
        self.end_headers()
        return content

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass
