"""The page docs/reference/injection.md, generated from the definition of Injections.

`python -m tests.support.injection_reference` rewrites it; tests/injection/test_crd.py compares.
"""

import json
from typing import Any

from tests.support.pages import DOCS, files
from tests.support.table_reference import FOLDER, _table

from reroll.features.injection import crd
from reroll.features.injection.decide import CONDITIONS

PAGE = FOLDER / "injection.md"
UPDATE = "python -m tests.support.injection_reference"
INTRODUCTION = f"""\
# Injection

<!-- Generated from the definition: do not edit. `{UPDATE}` rewrites it. -->

An `Injection` (`reroll.dev/v1alpha1`) keeps a piece of Secrets and ConfigMaps in a field of another object.
The [guide](../guides/injection.md) says how it behaves; `kubectl explain injection.spec` shows what is on this page.
"""  # noqa: E501  pages have one sentence a line


def reference() -> str:
    guide = (DOCS / "guides" / "injection.md").read_text(encoding="utf-8")
    reasons = [
        (f"`{name}`", ", ".join(f"`{reason.word}`" for reason in sorted(found, key=str)))
        for name, found in CONDITIONS.items()
    ]
    rules = [(f"`{rule['rule']}`", rule["message"]) for rule in crd.rules()]
    parts = [
        INTRODUCTION.rstrip(),
        f"```yaml\n{files(guide)['injection.yaml']}```",
        *_fields("spec"),
        *_fields("status"),
        "## Conditions",
        _table(("condition", "is true with the reasons"), reasons),
        "With other [reasons](reasons.md) only `Ready` is false, and says why.",
        "## What the API server refuses",
        "Beside what does not fit the types above:",
        _table(("rule", "message"), rules),
    ]
    return "\n\n".join(parts) + "\n"


def _fields(title: str) -> list[str]:
    rows = [
        (f"`{path}`", _type(schema), _needed(schema, required), schema["description"])
        for path, schema, required in crd.fields()
        if path.startswith(f"{title}.")
    ]
    return [f"## {title}", _table(("field", "type", "", "meaning"), rows)]


def _type(schema: dict[str, Any]) -> str:
    words = ", ".join(f"`{word}`" for word in schema.get("enum", ()))
    return words or str(schema["type"])


def _needed(schema: dict[str, Any], required: bool) -> str:
    if required:
        return "required"
    return f"default: `{json.dumps(schema['default'])}`" if "default" in schema else ""


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
