"""The documentation as a site: it builds, its links lead somewhere, and commands can be copied."""

import re
import shutil
from collections.abc import Iterator
from fnmatch import fnmatch
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
import yaml
from tests.support.pages import DOCS, commands, prompts, remarks
from tests.test_project import ROOT, tool

import reroll

CONFIG = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
DRAWN_FOR_ITSELF = {"demo.svg", "logo.svg"}
"""A terminal is as wide as it is, and both have colours of their own."""
WIDEST = 94
"""Characters of a line that fit into a page of 1280 px."""
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]


def copy(to: Path) -> Path:
    """What the site is made of, to build or to break."""
    shutil.copytree(DOCS, to / "docs")
    shutil.copy(ROOT / "mkdocs.yml", to)
    return to


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = copy(tmp_path_factory.mktemp("site"))
    run = tool("zensical", "build", "--strict", cwd=folder)
    assert run.returncode == 0, run.stdout
    return folder / "site"


class Links(HTMLParser):
    """What a page has for anchors, and what it leads to."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in {"id", "name"} and value:
                self.anchors.add(value)
            if (name == "src" or (name == "href" and tag in {"a", "link"})) and value:
                self.links.add(unescape(value))


def dead(site: Path) -> Iterator[str]:
    """Links of the site's pages to what is not there; outside of the site nothing is asked."""
    pages = {path: Links(path) for path in site.rglob("*.html") if path.name != "404.html"}
    for page, found in pages.items():
        for link in found.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            path = unquote(parts.path)
            folder = site if path.startswith("/") else page.parent
            target = (folder / path.lstrip("/")).resolve() if path else page
            target = target / "index.html" if target.is_dir() else target
            anchors = pages[target].anchors if target in pages else {parts.fragment}
            if not target.is_file() or (parts.fragment and unquote(parts.fragment) not in anchors):
                yield f"{page.relative_to(site)}: {link}"


def test_the_site_builds_and_every_link_and_picture_of_it_is_there(site: Path) -> None:
    assert len([*site.rglob("*.html")]) > 50
    assert [*dead(site.resolve())] == []


def test_a_page_loads_nothing_from_elsewhere(site: Path) -> None:
    loads = re.compile(
        r"""<(?:script|img|iframe)[^>]+src=["']?https?:|<link[^>]+href=["']?https?:"""
    )
    pages = list(site.rglob("*.html"))
    assert [p.name for p in pages if loads.search(p.read_text(encoding="utf-8"))] == []


@pytest.mark.thorough
@pytest.mark.parametrize("link", ["nope.md", "guides/render.md#nope"])
def test_a_link_to_no_page_and_to_no_heading_stops_the_build(tmp_path: Path, link: str) -> None:
    folder = copy(tmp_path)
    with (folder / "docs" / "install.md").open("a", encoding="utf-8") as page:
        page.write(f"\n[planted]({link})\n")

    assert tool("zensical", "build", "--strict", cwd=folder).returncode != 0


def test_what_the_builder_lets_through_is_noticed(tmp_path: Path) -> None:
    folder = copy(tmp_path)
    with (folder / "docs" / "install.md").open("a", encoding="utf-8") as page:
        page.write('\n![planted](nope.svg)\n\n[a](/no/such/) <img src="gone.svg" alt="">\n')
    assert tool("zensical", "build", "--strict", cwd=folder).returncode == 0

    found = {line.rpartition("/")[2] for line in dead((folder / "site").resolve())}

    assert {"nope.svg", "gone.svg", ""} <= found


def leaves(nav: Any) -> Iterator[str]:
    for item in nav:
        for value in item.values():
            yield from [value] if isinstance(value, str) else leaves(value)


def test_every_page_has_its_place_in_the_navigation_and_every_place_its_page() -> None:
    named = [*leaves(CONFIG["nav"])]
    apart = CONFIG["not_in_nav"].split()
    there = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    listed = {page for page in there if any(fnmatch(f"/{page}", rule) for rule in apart)}

    assert sorted(named) == sorted(set(named))
    assert set(named) == there - listed


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_a_block_with_commands_has_commands_alone(page: Path) -> None:
    """Whatever the copy button takes, a shell takes too: zsh knows no comments."""
    text = page.read_text(encoding="utf-8")

    assert prompts(text) == [], "output goes into a block `text` of its own"
    assert remarks(text) == [], "say it in a sentence, or a table, below the block"
    assert [line for line in commands(text) if len(line) > WIDEST] == [], "go on in the next line"


def test_the_foot_of_every_page_has_the_version() -> None:
    assert f"Reroll {reroll.__version__} " in CONFIG["copyright"]


@pytest.mark.parametrize("file", sorted((DOCS / "images").glob("*.svg")), ids=lambda f: f.name)
def test_a_picture_is_readable_on_a_phone_and_in_the_dark(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    width = float(re.findall(r'viewBox="0 0 ([\d.]+) ', text)[0])

    assert "<title" in text
    assert re.findall(r"(?:href|src|url)=?\(?[\"']?(?:https?:)?//", text) == []
    if file.name not in DRAWN_FOR_ITSELF:
        assert width <= 400, "a phone shows 358 px, and letters must not shrink by much"
        assert min(map(float, re.findall(r"([\d.]+)px", text))) >= 12
        assert "prefers-color-scheme: dark" in text
        assert 'class="page"' in text, "it brings its own background: pages have a switch"
