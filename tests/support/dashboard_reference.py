"""The page docs/reference/dashboard-api.md, generated from the documents of the dashboard.

`python -m tests.support.dashboard_reference` rewrites it; tests/dashboard/test_documents.py
compares.
"""

import ast
import inspect
import re
from typing import NamedTuple

from tests.support.table_reference import FOLDER, _table

from reroll.dashboard import schema, schema_objects
from reroll.dashboard.site import PAGES

PAGE = FOLDER / "dashboard-api.md"
MODULES = (schema, schema_objects)
UPDATE = "python -m tests.support.dashboard_reference"
INTRODUCTION = f"""\
# The dashboard's documents

<!-- Generated from the documents: do not edit. `{UPDATE}` writes it anew. -->

Every page of [`reroll dashboard`](../guides/dashboard.md) is also a JSON document below `/api/v1`, for the browser that has a session.
Lists take `?page=2`, most of them `?namespace=shop`.
Times are RFC 3339 in UTC.
What cannot be made is `{{"problem": "a sentence"}}` with a status from 400 on; with 503, ask again after the seconds in `Retry-After`.
No document has a value of a ConfigMap or Secret; names of keys of a Secret are in them only for who may get it.
"""  # noqa: E501  pages have one sentence a line


class Field(NamedTuple):
    name: str
    type: str
    meaning: str


class Described(NamedTuple):
    name: str
    meaning: str
    fields: list[Field]


def documents() -> dict[str, Described]:
    """Every document of the module, with what its source says of it."""
    found = {}
    for node in (one for each in MODULES for one in ast.parse(inspect.getsource(each)).body):
        if isinstance(node, ast.ClassDef) and node.name != "Document":
            about = " ".join((ast.get_docstring(node) or "").split())
            found[node.name] = Described(node.name, about, _fields(node))
    return found


def _fields(node: ast.ClassDef) -> list[Field]:
    fields: list[Field] = []
    for one in node.body:
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
            name = re.sub(r"_(\w)", lambda match: match[1].upper(), one.target.id)
            fields.append(Field(name, ast.unparse(one.annotation), ""))
        elif isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant) and fields:
            meaning = " ".join(str(one.value.value).split())
            fields[-1] = fields[-1]._replace(meaning=meaning)
    return fields


_JSON = {"str": "text", "int": "number", "bool": "true or false", "None": "null"}


def _type(text: str, known: set[str]) -> str:
    """As JSON has it, with a link to a document."""

    def one(match: re.Match[str]) -> str:
        word = match[0]
        return f"[{word}](#{word.lower()})" if word in known else _JSON.get(word, word)

    text = re.sub(r"list\[(.+)\]", r"list of \1", text)
    text = re.sub(r"dict\[str, (\w+)\]", r"object", text)
    return re.sub(r"\b\w+\b", one, text).replace(" | ", " or ")


def _section(title: str, one: Described, known: set[str]) -> str:
    rows = [(f"`{field.name}`", _type(field.type, known), field.meaning) for field in one.fields]
    about = re.sub(r"^`[^`]+`: ", "", one.meaning)
    about = about[:1].upper() + about[1:]
    table = _table(("field", "is", "meaning"), rows)
    return f"## {title}\n\n{about}\n\n{table}"


def reference() -> str:
    all_ = documents()
    pages = {page.document.__name__: page.api for page in PAGES}
    known = set(all_) - set(pages)
    parts = [_section(f"`{pages[name]}`", all_[name], known) for name in pages]
    parts += [_section(name, all_[name], known) for name in sorted(known)]
    return "\n\n".join([INTRODUCTION.rstrip(), *parts]) + "\n"


def main() -> None:
    PAGE.write_text(reference(), encoding="utf-8")


if __name__ == "__main__":
    main()
