"""Files that people give to commands: read whole; what is wrong with one is said in a sentence."""

import sys
from typing import Any

from reroll.cli.errors import CommandError, Exit


def read_bytes(path: str, what: str) -> bytes:
    from pathlib import Path

    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise CommandError(f"{what} {path}: {error.strerror}", Exit.USAGE) from None


def read_yaml(path: str, what: str) -> dict[str, Any]:
    """The mapping in a YAML file (`-`: standard input); empty if there is nothing in it."""
    from pathlib import Path

    from reroll.settings.document import yaml_mapping

    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
        return yaml_mapping(text, f"{what} {path}")
    except OSError as error:
        raise CommandError(f"{what} {path}: {error.strerror}", Exit.USAGE) from None
    except UnicodeDecodeError as error:
        raise CommandError(f"{what} {path} is not YAML: {error}", Exit.USAGE) from None
    except ValueError as error:
        raise CommandError(str(error), Exit.USAGE) from None
