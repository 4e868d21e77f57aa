"""The glossary against the code: what it names exists, and what it rules out does not.

Also the paths that the other pages for contributors name, which a rename would leave behind.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "reroll"
PAGES = ("docs/glossary.md", "docs/architecture.md", "CONTRIBUTING.md", "README.md")
PARTICIPLES = {
    *("told", "kept", "chosen", "tried", "revised", "decided", "pinned", "company", "book"),
    *("found", "seen", "looked"),
}
"""Names that say how something came to be, and not what it is."""


class Name(NamedTuple):
    module: str
    """Below the package."""
    path: str
    """Of a class, function or method, with the class that it is in; empty for the module itself."""

    @property
    def last(self) -> str:
        own = self.path.rpartition(".")[2] if self.path else Path(self.module).stem
        return own.lower()

    def __str__(self) -> str:
        return f"{self.module}: {self.path}" if self.path else self.module


def defined(body: list[ast.stmt], prefix: str = "") -> Iterator[str]:
    """The public classes, functions and methods of a module."""
    for node in body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if not node.name.startswith("_"):
            yield prefix + node.name
        if isinstance(node, ast.ClassDef):
            yield from defined(node.body, f"{prefix}{node.name}.")


def public_names() -> Iterator[Name]:
    for path in sorted(PACKAGE.rglob("*.py")):
        module = path.relative_to(PACKAGE).as_posix()
        yield Name(module, "")
        for name in defined(ast.parse(path.read_text(encoding="utf-8")).body):
            yield Name(module, name)


NAMES = tuple(public_names())


class Row(NamedTuple):
    term: str
    meaning: str
    modules: list[str]
    unused: list[str]


def rows() -> Iterator[Row]:
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("| ") or cells[0] == "term":
            continue
        assert len(cells) == 4, f"docs/glossary.md: a row has four cells: {line}"
        term, meaning, modules, unused = cells
        yield Row(term, meaning, re.findall(r"`([^`]+)`", modules), re.findall(r"`(\w+)`", unused))


GLOSSARY = tuple(rows())


def test_every_term_has_one_row_a_meaning_and_a_module() -> None:
    terms = [row.term for row in GLOSSARY]
    assert len(terms) > 40
    assert sorted(terms) == sorted(set(terms))
    assert [row.term for row in GLOSSARY if not row.meaning or not row.modules] == []


@pytest.mark.parametrize("page", PAGES)
def test_every_path_that_a_page_for_contributors_names_exists(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:src/reroll/)?[a-z_]+(?:/[\w-]+)*(?:/|\.py))`", text))
    assert named
    missing = {
        path for path in named if not (ROOT / path).exists() and not (PACKAGE / path).exists()
    }
    assert missing == set(), f"{page} names paths that do not exist"


def test_every_module_of_the_glossary_exists() -> None:
    missing = {
        f"{row.term}: {module}"
        for row in GLOSSARY
        for module in row.modules
        if not (PACKAGE / module).is_file()
    }
    assert missing == set()


def test_no_public_name_is_a_participle() -> None:
    offenders = {str(name) for name in NAMES if name.last in PARTICIPLES}
    assert offenders == set(), "name the thing that it is"


def test_no_public_name_is_a_word_that_the_glossary_rules_out() -> None:
    unused = {word: row.term for row in GLOSSARY for word in row.unused}
    assert len(unused) > 20
    offenders = [f"{name} ({unused[name.last]})" for name in NAMES if name.last in unused]
    assert offenders == []
