"""The page of licences: every package that a controller has installed, from its own metadata.

`python -m tests.support.licences` rewrites it; tests/deploy/test_licences.py compares.
"""

import re
import tomllib
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "licences.md"
UPDATE = "python -m tests.support.licences"
HEAD = f"""# Licences

<!-- Generated from the packages' metadata: do not edit. `{UPDATE}` rewrites it. -->

Reroll is under the Apache License 2.0.
What a controller has installed beside it, as each package says of itself:

| package | version | licence |
|---|---|---|
"""
SPELT = {
    "MIT License": "MIT",
    "Apache Software License": "Apache-2.0",
    "Apache 2": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "BSD": "BSD-3-Clause",
    "Python Software Foundation License": "PSF-2.0",
}
"""What people write, as SPDX has it."""


def packages() -> list[Distribution]:
    """All that is needed to run it, by name; without extras."""
    found: dict[str, Distribution] = {}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    todo = [Requirement(text) for text in project["dependencies"]]
    while todo:
        needed = todo.pop()
        name = canonicalize_name(needed.name)
        if name in found or (needed.marker and not needed.marker.evaluate({"extra": ""})):
            continue
        found[name] = distribution(name)
        todo += map(Requirement, found[name].requires or ())
    return [found[name] for name in sorted(found)]


def licence(one: Distribution) -> str:
    """As SPDX writes it; empty if the package says nothing."""
    told = one.metadata.get("License-Expression") or one.metadata.get("License") or ""
    if not told or "\n" in told or len(told) > 60:
        classifiers = one.metadata.get_all("Classifier") or ()
        names = [c.rpartition(" :: ")[2] for c in classifiers if c.startswith("License :: ")]
        told = " AND ".join(dict.fromkeys(SPELT.get(name, name) for name in names))
    return SPELT.get(told, told)


def single(expression: str) -> set[str]:
    """The licences that an expression names."""
    return {word for word in re.split(r"\s+(?:AND|OR|WITH)\s+|[()]", expression) if word}


def page() -> str:
    rows = [f"| {one.name} | {one.version} | {licence(one)} |" for one in packages()]
    return HEAD + "\n".join(rows) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
