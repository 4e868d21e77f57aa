"""A git repository in a folder, served by git's own HTTP backend, for tools that pull."""

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

BRANCH = "main"
_IDENTITY = {
    **{
        f"GIT_{who}_{what}": "tests@example.invalid"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    },
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


class Repository:
    """Its files are manifests, one object each."""

    def __init__(self, folder: Path) -> None:
        self._bare, self._tree = folder / "app.git", folder / "app"
        self.url = ""
        self._git("init", "--quiet", "--bare", f"--initial-branch={BRANCH}", self._bare)
        self._git("init", "--quiet", f"--initial-branch={BRANCH}", self._tree)

    def write(self, name: str, text: str) -> None:
        """A file that is none of an object; the next commit has it."""
        (self._tree / name).write_text(text)

    def commit(self, *manifests: Mapping[str, Any], without: str = "") -> str:
        """Write these over what was there, less the file of one `kind-name`; the new revision."""
        for manifest in manifests:
            name = f"{manifest['kind']}-{manifest['metadata']['name']}".lower()
            (self._tree / f"{name}.yaml").write_text(json.dumps(manifest, indent=1))
        if without:
            (self._tree / f"{without}.yaml").unlink()
        self._git("-C", self._tree, "add", "--all")
        self._git("-C", self._tree, "commit", "--quiet", "--allow-empty", "--message=change")
        self._git("-C", self._tree, "push", "--quiet", self._bare, BRANCH)
        return self._git("-C", self._tree, "rev-parse", "HEAD").strip()

    @contextmanager
    def served(self) -> Iterator[None]:
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Backend, self._bare.parent))
        server.daemon_threads = True
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        self.url = f"http://127.0.0.1:{server.server_address[1]}/app.git"
        try:
            yield
        finally:
            server.shutdown()
            server.server_close()
            thread.join()

    def _git(self, *arguments: str | Path) -> str:
        environment = {**os.environ, **_IDENTITY}
        done = subprocess.run(
            ["git", *arguments], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"git {arguments}: {done.stderr}"
        return done.stdout


class _Backend(BaseHTTPRequestHandler):
    """Hands each request to `git http-backend`, as a web server does to a CGI program."""

    def __init__(self, root: Path, *arguments: Any) -> None:
        self._root = root
        super().__init__(*arguments)

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers.get("Content-Length") or 0)))

    def _answer(self, body: bytes) -> None:
        asked = urlsplit(self.path)
        variables = {
            **os.environ,
            **_IDENTITY,
            "GIT_PROJECT_ROOT": str(self._root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": asked.path,
            "QUERY_STRING": asked.query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "HTTP_GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "REMOTE_ADDR": "127.0.0.1",
        }
        done = subprocess.run(
            ["git", "http-backend"], env=variables, input=body, capture_output=True, check=False
        )
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        headers = [line.partition(": ")[::2] for line in head.decode().splitlines()]
        status = next((value for name, value in headers if name == "Status"), "200 OK")
        self.send_response(int(status.split()[0]))
        for name, value in headers:
            if name != "Status":
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass
