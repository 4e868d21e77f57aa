"""What is in a folder of Python packages, as a CycloneDX document: from the packages themselves."""

import json
import re
import uuid
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

LICENCE = "Apache-2.0"


def write(library: Path, version: str, target: Path) -> None:
    found = sorted(distributions(path=[str(library)]), key=lambda one: _name(one.name))
    target.write_text(json.dumps(document(found, version), indent=2) + "\n", encoding="utf-8")


def document(packages: Iterable[Distribution], version: str) -> dict[str, Any]:
    """The same packages give the same document."""
    packages = list(packages)
    known = {_name(one.name): _reference(one.name, one.version) for one in packages}
    own = _component("reroll", version, [{"license": {"id": LICENCE}}], kind="application")
    seed = "\n".join([own["bom-ref"], *known.values()])
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, seed)}",
        "version": 1,
        "metadata": {"component": own},
        "components": [_component(one.name, one.version, _licences(one)) for one in packages],
        "dependencies": [
            {"ref": own["bom-ref"], "dependsOn": sorted(known.values())},
            *(
                {"ref": known[_name(one.name)], "dependsOn": sorted(_needs(one, known))}
                for one in packages
            ),
        ],
    }


def _component(
    name: str, version: str, licences: list[dict[str, Any]], kind: str = "library"
) -> dict[str, Any]:
    reference = _reference(name, version)
    found = {"type": kind, "bom-ref": reference, "name": name, "version": version}
    return {**found, "purl": reference, **({"licenses": licences} if licences else {})}


def _reference(name: str, version: str) -> str:
    return f"pkg:pypi/{_name(name)}@{version}"


def _licences(one: Distribution) -> list[dict[str, Any]]:
    """The expression that newer packages have, or what they call it."""
    if expression := one.metadata.get("License-Expression"):
        return [{"expression": expression}]
    prefix = "License :: OSI Approved :: "
    classified = [
        text.removeprefix(prefix)
        for text in one.metadata.get_all("Classifier") or ()
        if text.startswith(prefix)
    ]
    named = one.metadata.get("License") or ""
    if not classified and named and "\n" not in named:
        classified = [named]
    return [{"license": {"name": text}} for text in classified]


def _needs(one: Distribution, known: dict[str, str]) -> Iterator[str]:
    """Those of its requirements that are there."""
    for text in one.requires or ():
        name = re.match(r"[A-Za-z0-9._-]+", text)
        if name and (reference := known.get(_name(name[0]))) and "extra ==" not in text:
            yield reference


def _name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
