"""What is wrong with a value of a config file, in the words of people.

Pure. The decoder tells it in words of types, and not what may be written instead.
"""

import re
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

_WORDS = {
    "str": "text",
    "array": "a list",
    "object": "a map",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "null": "nothing",
    "date": "a date",
    "datetime": "a time",
}
_PLACE = re.compile(r"(?P<told>.*?)(?: - at `\$(?P<path>[^`]*)`)?", re.DOTALL)
_TYPE = re.compile(r"Expected `(?P<wanted>[a-z |]+)`, got `(?P<got>[a-z]+)`")
_BOUND = re.compile(r"Expected `(?P<wanted>[a-z |]+)` (?P<sign>[<>])= (?P<bound>\S+)")
_FIELD = re.compile(r"Object (?P<what>missing required|contains unknown) field `(?P<name>[^`]*)`")
_CHOICE = re.compile(r"Invalid enum value (?P<got>.*)", re.DOTALL)
_UNQUOTED = frozenset(("int", "float", "bool", "null", "date", "datetime"))
"""What YAML makes of text that is not quoted."""
_LONGEST = 80


def sentence(error: Exception, name: str, hint: Any) -> str:
    """The field, and what to write there; `hint` is its type."""
    found = _PLACE.fullmatch(str(error))
    told, path = (found["told"], found["path"] or "") if found else (str(error), "")
    place = name + path.replace("[...]", "")
    if parts := _TYPE.fullmatch(told):
        got = parts["got"]
        return f"{place}: is {_WORDS.get(got, got)}; write {_wanted(parts['wanted'], got)}"
    if parts := _BOUND.fullmatch(told):
        size, least = ("large", "most") if parts["sign"] == "<" else ("small", "least")
        wanted = _wanted(parts["wanted"], "")
        return f"{place}: is too {size}; write {wanted} of at {least} {parts['bound']}"
    if parts := _FIELD.fullmatch(told):
        field = parts["name"]
        if parts["what"] == "missing required":
            return f"{place}: {field} is missing"
        return f"{place}: there is no field {field[:_LONGEST]!r}; remove it"
    if (parts := _CHOICE.fullmatch(told)) and (words := [*_choices(hint)]):
        return f"{place}: {parts['got'][:_LONGEST]} cannot be one; use one of {', '.join(words)}"
    return f"{place}: {told}"


def _wanted(types: str, got: str) -> str:
    words = {**_WORDS, "str": "text in quotes"} if got in _UNQUOTED else _WORDS
    return " or ".join(words.get(one, one) for one in types.split(" | ") if one != "null")


def _choices(hint: Any) -> Iterator[str]:
    if get_origin(hint) is Literal:
        yield from map(str, get_args(hint))
        return
    for part in get_args(hint):
        yield from _choices(part)
