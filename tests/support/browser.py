"""Looks at every page of the built documentation in a real browser: `make docs-look`.

Each page is loaded at the width of a desk and of a phone. A page that scrolls sideways is an
error, and so is a picture that does not load. With `--pictures FOLDER` it also takes screenshots.
Needs Chromium, and a site that `make docs` built.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Queue
from typing import Any

SITE = Path(__file__).parents[2] / "site"
WIDTHS = {"desk": 1280, "phone": 390}
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 300.0
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--hide-scrollbars",
)
CHECK = """<!doctype html><meta charset=utf-8><body><script>
const look = (page, width) => new Promise(done => {
  const frame = document.createElement("iframe")
  frame.width = width; frame.height = 900
  frame.onload = () => setTimeout(() => {
    const doc = frame.contentDocument, root = doc.documentElement
    const wide = e => e.scrollWidth > e.clientWidth + 1
    const inside = e => e.closest(".md-typeset__scrollwrap, pre, .md-sidebar, .md-header, nav")
    done({
      page, width, scrolls: root.scrollWidth - width,
      outside: root.scrollWidth <= width ? [] : [...doc.querySelectorAll("article *")].filter(
        e => e.getBoundingClientRect().right > width && !inside(e)).map(
        e => e.outerHTML.slice(0, 120)).slice(0, 3),
      blocks: [...doc.querySelectorAll("article pre > code")].filter(wide).map(
        e => [e.closest("div.highlight")?.className ?? "", e.textContent.trim().slice(0, 60)]),
      tables: [...doc.querySelectorAll("article .md-typeset__scrollwrap")].filter(wide).map(
        e => e.textContent.trim().replace(/\\s+/g, " ").slice(0, 60)),
      broken: [...doc.images].filter(e => !e.naturalWidth && !e.closest("svg")).map(e => e.src),
    })
    frame.remove()
  }, 60)
  frame.src = page
  document.body.append(frame)
})
const all = async () => {
  const {pages, widths} = await (await fetch("/_work")).json()
  const found = []
  for (const page of pages) for (const width of widths) found.push(await look(page, width))
  await fetch("/_found", {method: "POST", body: JSON.stringify(found)})
}
all()
</script>"""


class Handler(SimpleHTTPRequestHandler):
    """The site, the page that checks it, and where that page reports to."""

    def __init__(self, *args: Any, work: bytes, found: Queue[Any], **more: Any) -> None:
        self.answers = {"/_check": CHECK.encode(), "/_work": work}
        self.found = found
        super().__init__(*args, **more)

    def do_GET(self) -> None:
        if (body := self.answers.get(self.path)) is None:
            return super().do_GET()
        return self.answer(body)

    def do_POST(self) -> None:
        self.found.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.answer(b"")

    def answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing: what matters is in the report."""


def program() -> str:
    """The browser; without it nothing is checked, and that is an error."""
    for name in PROGRAMS:
        if path := shutil.which(name):
            return path
    sys.exit("no page was looked at: Chromium is missing; install it: apt-get install chromium")


def pages(site: Path) -> list[str]:
    """As a browser asks for them."""
    if not (site / "index.html").is_file():
        sys.exit(f"{site} has no pages; build them: make docs")
    return sorted(f"/{path.relative_to(site)}" for path in site.rglob("*.html"))


@contextmanager
def served(site: Path, found: Queue[Any], work: bytes = b"") -> Iterator[str]:
    """The site at an address of this machine."""
    handler = partial(Handler, directory=str(site), work=work, found=found)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def look(site: Path) -> list[dict[str, Any]]:
    """What the browser measured of each page at each width."""
    found: Queue[Any] = Queue()
    work = json.dumps({"pages": pages(site), "widths": [*WIDTHS.values()]}).encode()
    browser = program()
    with served(site, found, work) as address, tempfile.TemporaryDirectory() as profile:
        command = [browser, *FLAGS, f"--user-data-dir={profile}", "--remote-debugging-port=0"]
        with subprocess.Popen(
            [*command, f"{address}/_check"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            try:
                measured: list[dict[str, Any]] = found.get(timeout=PATIENCE)
            finally:
                process.terminate()
                process.wait(20)
    return measured


def problems(measured: list[dict[str, Any]]) -> list[str]:
    """Of pages that scroll sideways, and of pictures that are not there."""
    return [
        f"{one['page']} at {one['width']} px: {said}"
        for one in measured
        for said in (
            *([f"scrolls {one['scrolls']} px: {one['outside']}"] if one["scrolls"] > 0 else ()),
            *(f"{source} does not load" for source in one["broken"]),
        )
    ]


def pictures(site: Path, folder: Path, only: str) -> None:
    """A screenshot of each page at each width."""
    folder.mkdir(parents=True, exist_ok=True)
    browser = program()
    with served(site, Queue()) as address, tempfile.TemporaryDirectory() as profile:
        for page in pages(site):
            if not re.search(only, page):
                continue
            for name, width in WIDTHS.items():
                # A window cannot be narrower than 500 px, so the phone is a frame in one.
                stem = page.strip("/").removesuffix("index.html").strip("/").replace("/", "-")
                file = folder / f"{stem or 'index'}-{name}.png"
                frame = site / "_frame.html"
                frame.write_text(
                    f"<body style='margin:0'><iframe src='{page}' width={width} height=2400"
                    " style='border:0'></iframe>"
                )
                size = f"--window-size={max(width, 500)},2400"
                subprocess.run(
                    [
                        *(browser, *FLAGS, f"--user-data-dir={profile}", size),
                        *(f"--screenshot={file}", f"{address}/_frame.html"),
                    ],
                    check=True,
                    capture_output=True,
                    timeout=PATIENCE,
                )
                frame.unlink()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pictures", type=Path, metavar="FOLDER")
    parser.add_argument("--only", default="", metavar="PATTERN", help="of their addresses")
    parser.add_argument("--wide", action="store_true", help="also list blocks that scroll")
    args = parser.parse_args()
    if args.pictures:
        pictures(SITE, args.pictures, args.only)
    measured = look(SITE)
    if args.wide:
        for one in measured:
            for what in ("blocks", "tables"):
                for text in one[what]:
                    sys.stdout.write(f"{one['page']} {one['width']} {what}: {text}\n")
    if found := problems(measured):
        sys.exit("\n".join(found))
    sys.stdout.write(f"none of {len(pages(SITE))} pages scrolls sideways at {WIDTHS}\n")


if __name__ == "__main__":
    main()
