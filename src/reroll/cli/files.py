"""Files that people give to commands: read whole, and wrong in a sentence."""

import sys
from pathlib import Path
from typing import Any

from reroll.cli.errors import CommandError, Exit


def read_yaml(path: str, what: str) -> dict[str, Any]:
    """The mapping in a YAML file (`-`: standard input); empty if there is nothing in it."""
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{what} {path}: {error.strerror}", Exit.USAGE) from None
    except UnicodeDecodeError as error:
        raise CommandError(f"{what} {path} is not YAML: {error}", Exit.USAGE) from None
    return yaml_mapping(text, f"{what} {path}")


def yaml_mapping(text: str, where: str) -> dict[str, Any]:
    """The same out of a text."""
    import yaml

    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError as error:
        told = " ".join(str(error).split())
        raise CommandError(f"{where} is not YAML: {told}", Exit.USAGE) from None
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise CommandError(f"{where}: it has to be `name: value` lines", Exit.USAGE)
    return {str(key): value for key, value in found.items()}
