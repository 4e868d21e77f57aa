"""Where in an object: the part of JSONPath that names one place which can be written.

`.spec.storage['s3.main'].keys[0]`, `.spec.env[?(@.name=="KEY")].value`: names, indexes, and filters
that choose one item of a list by one of its fields. Pure. A path that cannot be read is a
`PathError`: a sentence with the place in the text.
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
    "*": "a wildcard means several places",
    "..": "`..` means several places",
    ":": "a slice means several places",
    ",": "a union means several places",
}


class PathError(ValueError):
    """A path that cannot be read, or that leads nowhere in an object."""


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
    """The item of a list of which a field has a value."""

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
    """The one way in which we write a path."""
    return "".join(map(str, path))


def parse(written: str) -> Path:
    """The steps of a path, with or without the `$` or the braces that other tools want."""
    if len(written) > LONGEST:
        raise PathError(f"the path has {len(written)} characters; at most {LONGEST} can be read")
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
        raise PathError(f"the path begins with {steps[0]}; an object begins with a field: .spec")
    return tuple(steps)


def _step(body: str, at: int, offset: int) -> tuple[Step, int]:
    if body.startswith("..", at):
        raise _at(at + offset, _UNSUPPORTED[".."])
    begins = at + 1 if body[at] == "." else at
    if body[at] == "." or at == 0:
        if word := _WORD.match(body, begins):
            return Name(word[0]), word.end()
        if body[at] == ".":
            raise _at(begins + offset, _why(body[begins : begins + 1], "a name of a field"))
    if match := _QUOTED.match(body, at):
        return Name(_plain(match[1] if match[1] is not None else match[2])), match.end()
    if match := _INDEX.match(body, at):
        return Index(int(match[1])), match.end()
    if match := _FILTER.match(body, at):
        found = match[2] if match[2] is not None else match[3]
        value = int(match[4]) if match[4] is not None else _plain(found)
        return Filter(match[1], value), match.end()
    raise _at(at + offset, _unreadable(body[at:]))


def _unreadable(rest: str) -> str:
    inside = rest[1:].partition("]")[0] if rest.startswith("[") else rest[0]
    if inside.startswith("?"):
        return 'this filter cannot be read; one field must equal one text: [?(@.name=="x")]'
    sign = next((sign for sign in _UNSUPPORTED if sign in inside), inside[:1])
    return _why(sign, 'a step such as .name, [0] or [?(@.name=="x")]')


def _why(found: str, wanted: str) -> str:
    if found in _UNSUPPORTED:
        return f"{_UNSUPPORTED[found]}, and one must be written"
    return f"{found!r} is not {wanted}" if found else f"{wanted} is missing"


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


class Place(NamedTuple):
    """A path as it is in one object."""

    pointer: tuple[str | int, ...]
    """The keys and indexes of as many steps as there are in the object."""
    value: Any
    """What the last of these leads to."""
    missing: tuple[str, ...]
    """The names of the steps that are not there, which can be made."""

    @property
    def is_there(self) -> bool:
        return not self.missing


def find(document: Any, path: Path) -> Place:
    """Where a path leads; `PathError` where no writing could make it lead anywhere."""
    here, pointer = document, list[str | int]()
    for number, step in enumerate(path):
        if isinstance(step, Name):
            if not isinstance(here, dict):
                raise PathError(
                    f"{text(path[:number])} is {_kind(here)}, so it has no field {step}"
                )
            if step.name not in here or here[step.name] is None:
                return Place(tuple(pointer), here, _names(path, number))
            key: str | int = step.name
        else:
            key = _item(here, path, number)
        here = here[key]
        pointer.append(key)
    return Place(tuple(pointer), here, ())


def _names(path: Path, number: int) -> tuple[str, ...]:
    """The steps that are not there: only fields can be made, items of lists are somebody else's."""
    made = []
    for step in path[number:]:
        if not isinstance(step, Name):
            raise PathError(f"there is no list at {text(path[:number])}{path[number]}")
        made.append(step.name)
    return tuple(made)


def _item(here: Any, path: Path, number: int) -> int:
    step, where = path[number], text(path[:number])
    if not isinstance(here, list):
        raise PathError(f"{where} is {_kind(here)}, not a list")
    if isinstance(step, Index):
        if step.place >= len(here):
            raise PathError(f"{where} has {len(here)} items, so there is no {step}")
        return step.place
    found = [place for place, item in enumerate(here) if step.holds(item)]  # type: ignore[union-attr]
    if len(found) != 1:
        count = "no item" if not found else f"{len(found)} items"
        raise PathError(f"{where} has {count} with {step}; it must be one")
    return found[0]


def _kind(value: Any) -> str:
    kinds = {dict: "an object", list: "a list", str: "a string", bool: "a boolean"}
    return kinds.get(type(value), "a number")


def document(path: Path, value: Any) -> dict[str, Any]:
    """The smallest object with a value at a path, to be applied.

    An index cannot be applied; see `core.ownership.can_be_applied`.
    """
    made = value
    for step in reversed(path):
        if isinstance(step, Filter):
            made = [{step.field: step.value, **made}]
        else:
            made = {str(step[0]): made}
    return dict(made)


def written_value(place: Place, value: Any) -> tuple[str, Any]:
    """The JSON pointer to add at, and what to add there, so that the value is at the place."""
    if place.is_there:
        return pointer_text(place.pointer), value
    for name in reversed(place.missing[1:]):
        value = {name: value}
    return pointer_text((*place.pointer, place.missing[0])), value


def pointer_text(parts: Sequence[str | int]) -> str:
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in parts)
