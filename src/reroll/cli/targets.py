"""How people name objects on a command line: `deployment/web`, `sts/db`, `configmap/app`."""

from collections.abc import Sequence
from datetime import timedelta

from reroll.cli.errors import CommandError, Exit
from reroll.core.policy.durations import parse_duration
from reroll.core.tables.catalog import TABLES, Tables
from reroll.core.tables.kinds import Kind
from reroll.core.tables.source_kinds import CONFIGS, SourceKind

__all__ = [
    "CONFIGS",
    "config_target",
    "duration",
    "is_called",
    "is_pod",
    "targets",
    "workload_target",
]
_SHORT = {"deploy": "deployment", "sts": "statefulset", "ds": "daemonset", "cj": "cronjob"}


def workload_target(text: str, tables: Tables = TABLES) -> tuple[Kind, str]:
    """The kind and name in `KIND/NAME`, with the words that `kubectl` takes."""
    word, _, name = text.partition("/")
    for row in tables.kinds:
        if is_called(row, word) and name:
            return row, name
    raise CommandError(f"{text!r} names no workload; {_instead(text, tables)}", Exit.USAGE)


def targets(words: Sequence[str]) -> tuple[str, ...]:
    """`deployment web api` means the same as `deployment/web deployment/api`, as for `kubectl`."""
    if len(words) > 1 and not any("/" in word for word in words):
        kind, *names = words
        return tuple(f"{kind}/{name}" for name in names)
    return tuple(words)


def _instead(text: str, tables: Tables) -> str:
    """What to write instead of something that is no workload."""
    word, _, name = text.partition("/")
    known = ", ".join(row.name.lower() for row in tables.kinds)
    if not name:
        return f"write KIND/NAME, such as deployment/{word}; a KIND is one of {known}"
    if is_pod(word):
        return f"name what makes the pod, such as deployment/NAME; `reroll explain {text}` finds it"
    if tables.source_kind(word.lower()):
        return f"it is a source, and `reroll graph {text}` shows who uses it"
    return f"write KIND/NAME with one of {known}"


def is_pod(word: str) -> bool:
    return word.lower() in {"pod", "pods", "po"}


def is_called(row: Kind | SourceKind, word: str) -> bool:
    """Whether `word` is a name of the kind: its own, its plural or its short one."""
    wanted = _SHORT.get(word.lower(), word.lower())
    more = row.aliases if isinstance(row, SourceKind) else ()
    plurals = {row.plural, f"{row.plural}.{row.group}"}
    return wanted in {row.name.lower(), row.kind.lower(), *plurals, *more}


def config_target(text: str) -> tuple[SourceKind, str]:
    word, _, name = text.partition("/")
    row = TABLES.source_kind(word)
    if row is None or row not in CONFIGS or not name:
        known = " or ".join(f"{row.aliases[0]}/NAME" for row in CONFIGS)
        raise CommandError(f"{text!r} names no config; write {known}", Exit.USAGE)
    return row, name


def duration(flag: str, text: str) -> timedelta:
    found = parse_duration(text)
    if found is None:
        raise CommandError(f'{flag}: {text!r} is not a duration; use e.g. "5m"', Exit.USAGE)
    return found
