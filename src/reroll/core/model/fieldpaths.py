"""Paths to one field of an object: the part of JSONPath that names exactly one.

`.spec.storage['s3.main'].keys[0]`, `.spec.env[?(@.name=="KEY")].value`: names, indexes, and filters
that select one item of a list by one of its fields. Pure. A path that cannot be parsed is a
`PathError`: a sentence with the position in the text.
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

LONGEST = 512
_WORD = re.compile(r"[^.\[\]{}'\"\s()@?*,:=]+")
_QUOTED = re.compile(r"""\[\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\s*\]""")
_INDEX = re.compile(r"\[\s*(\d{1,6})\s*\]")
_FILTER = re.compile(
    r"""\[\s*\?\s*\(\s*@\.([^.\[\]'"\s()=]+)\s*==\s*"""
    r"""(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|(-?\d{1,18}))\s*\)\s*\]"""
)
_ESCAPED = re.compile(r"\\(.)")
_UNSUPPORTED = {
    "*": "a wildcard matches several places",
    "..": "`..` matches several places",
    ":": "a slice matches several places",
    ",": "a union matches several places",
}


class PathError(ValueError):
    """A path that cannot be parsed, or that cannot exist in an object."""


class Name(NamedTuple):
    """A field of an object."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}" if _WORD.fullmatch(self.name) else f"[{_quoted(self.name)}]"


class Index(NamedTuple):
    """An item of a list, by its place."""

    place: int

    def __str__(self) -> str:
        return f"[{self.place}]"


class Filter(NamedTuple):
    """The item of a list whose field has a value."""

    field: str
    value: str | int

    def __str__(self) -> str:
        text = _quoted(self.value) if isinstance(self.value, str) else str(self.value)
        return f"[?(@.{self.field}=={text})]"

    def holds(self, item: Any) -> bool:
        return isinstance(item, dict) and item.get(self.field) == self.value


Step = Name | Index | Filter
Path = tuple[Step, ...]


def text(path: Path) -> str:
    """The canonical spelling of a path."""
    return "".join(map(str, path))


def parse(written: str) -> Path:
    """The steps of a path, with or without the `$` or the braces of other tools."""
    if len(written) > LONGEST:
        raise PathError(f"the path has {len(written)} characters; at most {LONGEST} are allowed")
    body = written.strip()
    offset = len(written) - len(written.lstrip())
    if body.startswith("{") and body.endswith("}"):
        body, offset = body[1:-1], offset + 1
    if body.startswith("$"):
        body, offset = body[1:], offset + 1
    steps, at = [], 0
    while at < len(body):
        step, at = _step(body, at, offset)
        steps.append(step)
    if not steps:
        raise PathError("the path is empty; write e.g. .spec.storage.accessKey")
    if not isinstance(steps[0], Name):
        raise PathError(
            f"the path starts with {steps[0]}; it must start with a field such as .spec"
        )
    return tuple(steps)


def _step(body: str, at: int, offset: int) -> tuple[Step, int]:
    if body.startswith("..", at):
        raise _at(at + offset, _why("..", ""))
    begins = at + 1 if body[at] == "." else at
    if body[at] == "." or at == 0:
        if word := _WORD.match(body, begins):
            return Name(word[0]), word.end()
        if body[at] == ".":
            raise _at(begins + offset, _why(body[begins : begins + 1], "the name of a field"))
    if match := _QUOTED.match(body, at):
        return Name(_plain(match[1] if match[1] is not None else match[2])), match.end()
    if match := _INDEX.match(body, at):
        return Index(int(match[1])), match.end()
    if match := _FILTER.match(body, at):
        quoted = match[2] if match[2] is not None else match[3]
        value = int(match[4]) if match[4] is not None else _plain(quoted)
        return Filter(match[1], value), match.end()
    raise _at(at + offset, _unsupported(body[at:]))


def _unsupported(rest: str) -> str:
    inside = rest[1:].partition("]")[0] if rest.startswith("[") else rest[0]
    if inside.startswith("?"):
        return 'this filter is not supported; compare one field: [?(@.name=="x")]'
    sign = next((sign for sign in _UNSUPPORTED if sign in inside), inside[:1])
    return _why(sign, 'a step such as .name, [0] or [?(@.name=="x")]')


def _why(sign: str, expected: str) -> str:
    if sign in _UNSUPPORTED:
        return f"{_UNSUPPORTED[sign]}, but only one can be written"
    return f"{sign!r} is not {expected}" if sign else f"{expected} is missing"


def _at(position: int, why: str) -> PathError:
    return PathError(f"at character {position + 1} of the path: {why}")


def _plain(quoted: str) -> str:
    return _ESCAPED.sub(r"\1", quoted)


def _quoted(plain: str) -> str:
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'


def overlap(one: Path, other: Path) -> bool:
    """Whether writing one may change what is at the other.

    Only the object tells which item is at an index, so an index may be any item of a list.
    """
    return all(
        a == b or (isinstance(a, Index) != isinstance(b, Index))
        for a, b in zip(one, other, strict=False)
    )


class Location(NamedTuple):
    """A path resolved in one object."""

    pointer: tuple[str | int, ...]
    """The keys and indexes of the steps that exist."""
    value: Any
    """What the last of these leads to."""
    missing: tuple[str, ...]
    """The names of the fields that do not exist yet and can be created."""

    @property
    def exists(self) -> bool:
        return not self.missing


def locate(document: Any, path: Path) -> Location:
    """Where a path leads; `PathError` where no write could make it lead anywhere."""
    here, pointer = document, list[str | int]()
    for number, step in enumerate(path):
        if isinstance(step, Name):
            if not isinstance(here, dict):
                raise PathError(
                    f"{text(path[:number])} is {_kind(here)}, so it has no field {step}"
                )
            if here.get(step.name) is None:
                return Location(tuple(pointer), here, _new_names(path, number))
            key: str | int = step.name
        else:
            key = _item(here, step, text(path[:number]))
        here = here[key]
        pointer.append(key)
    return Location(tuple(pointer), here, ())


def _new_names(path: Path, number: int) -> tuple[str, ...]:
    """The steps from `number` on. Fields can be created; items of a list belong to its owner."""
    names = tuple(step.name for step in path[number:] if isinstance(step, Name))
    if len(names) < len(path) - number:
        raise PathError(f"there is no list at {text(path[: number + 1])}")
    return names


def _item(here: Any, step: Index | Filter, where: str) -> int:
    if not isinstance(here, list):
        raise PathError(f"{where} is {_kind(here)}, not a list")
    if isinstance(step, Index):
        if step.place >= len(here):
            raise PathError(f"{where} has {len(here)} items, so there is no {step}")
        return step.place
    matches = [place for place, item in enumerate(here) if step.holds(item)]
    if len(matches) != 1:
        count = f"{len(matches)} items" if matches else "no item"
        raise PathError(f"{where} has {count} with {step}; exactly one is needed")
    return matches[0]


def _kind(value: Any) -> str:
    kinds = {dict: "an object", list: "a list", str: "a string", bool: "a boolean"}
    return kinds.get(type(value), "a number")


def document(path: Path, value: Any) -> dict[str, Any]:
    """The smallest object with a value at a path, for server-side apply, which knows no index."""
    for step in reversed(path):
        if isinstance(step, Filter):
            value = [{step.field: step.value, **value}]
        else:
            value = {str(step[0]): value}
    return dict(value)


def addition(location: Location, value: Any) -> tuple[str, Any]:
    """The JSON pointer to add at, and what to add there, so that the value is at the location."""
    if location.exists:
        return pointer_text(location.pointer), value
    for name in reversed(location.missing[1:]):
        value = {name: value}
    return pointer_text((*location.pointer, location.missing[0])), value


def pointer_text(parts: Sequence[str | int]) -> str:
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in parts)
