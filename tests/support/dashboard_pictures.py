"""Takes the pictures of the dashboard that the guide has: `make pictures`.

Every page, light and dark, as wide as a desk and as a phone, of the cluster of
`tests.dashboard.showcase`. Needs Chromium.
"""

import argparse
import base64
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.dashboard.hosted import running
from tests.dashboard.sample import overview
from tests.dashboard.showcase import Showcase, Slow, busy, crowded, sighted
from tests.support.dashboard import chromium, served

FOLDER = Path(__file__).parents[2] / "docs" / "images" / "dashboard"
PAGES = {
    "now": "/",
    "held": "/held",
    "calendar": "/calendar",
    "timeline": "/timeline",
    "stale": "/stale",
    "find": "/search?q=e",
    "doctor": "/doctor",
    "source": "/source/ConfigMap/shop/settings",
    "approval": "/source/ConfigMap/shop/feature-flags",
    "workload": "/workload/Deployment/shop/search",
    "graph": "/graph/ConfigMap/shop/settings",
}
LARGE = {"now-5000": "/", "graph-5000": "/graph/ConfigMap/shop/settings"}
EMPTY = {"now-empty": "/"}
FIRST = {"now-first": "/"}
SLOW = {"moment": "/stale"}
WIDTHS = {"desk": 1440, "phone": 390}
SCHEMES = ("light", "dark")
LOOK = os.environ.get("REROLL_PICTURES", "")
"""A folder for the same as PNG, for those who look with something that knows no WebP."""
TALLEST = 1000
OPENED = {"workload": "use", "approval": "approve"}
"""Where the form of an action is open on the picture."""
SMALL = """async (png) => {
  const image = new Image()
  image.src = "data:image/png;base64," + png
  await image.decode()
  const canvas = new OffscreenCanvas(image.width, image.height)
  canvas.getContext("2d").drawImage(image, 0, 0)
  const blob = await canvas.convertToBlob({type: "image/webp", quality: 0.75})
  const bytes = new Uint8Array(await blob.arrayBuffer())
  let text = ""
  for (const one of bytes) text += String.fromCharCode(one)
  return btoa(text)
}"""
"""The same picture in less than half the bytes."""


@asynccontextmanager
async def _shown(port: int, seen: Any, kind: type[Showcase]) -> AsyncIterator[Any]:
    async with running(seen, port=port, kind=kind) as one:
        yield one.app


def take(browser: Any, folder: Path, seen: Any, pages: dict[str, str], only: str) -> None:
    kind = Slow if pages is SLOW else Showcase
    with served(lambda port: _shown(port, seen, kind)) as url:
        context = browser.new_context()
        context.new_page()  # An empty page, without a policy, makes pictures small.
        page = context.new_page()
        page.goto(f"{url}/enter?token=token-1")
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            for width, pixels in WIDTHS.items():
                page.set_viewport_size({"width": pixels, "height": 900})
                for name, path in pages.items():
                    if only in name:
                        file = folder / f"{name}-{scheme}-{width}.webp"
                        _one(page, f"{url}{path}", file, OPENED.get(name, ""))
        context.close()


def _one(page: Any, url: str, file: Path, opened: str) -> None:
    page.goto(url)
    page.locator("#live .word").wait_for()
    if opened:
        page.locator(f'details.action:has(form[action="/do/{opened}"]) summary').first.click()
    tall = page.evaluate("document.documentElement.scrollHeight")
    wide = page.viewport_size["width"]
    clip = {"x": 0, "y": 0, "width": wide, "height": min(tall, TALLEST)}
    taken = page.screenshot(clip=clip, full_page=True)
    if LOOK:
        Path(LOOK, f"{file.stem}.png").write_bytes(taken)
    small = page.context.pages[0].evaluate(SMALL, base64.b64encode(taken).decode())
    file.write_bytes(base64.b64decode(small))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--only", default="", metavar="NAME", help="a part of the page's name")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    with chromium() as browser:
        large, empty = (crowded(), LARGE), (overview([]), EMPTY)
        first, slow = (sighted(), FIRST), (busy(), SLOW)
        for seen, pages in ((busy(), PAGES), large, empty, first, slow):
            take(browser, args.folder, seen, pages, args.only)


if __name__ == "__main__":
    main()
