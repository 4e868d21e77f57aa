"""What a scalar means, as Kubernetes' own YAML reader has it.

That reader (sigs.k8s.io/yaml) follows YAML 1.1 with exceptions: `yes` is a boolean and `017` is 15,
but a date is text and there are no numbers to the base of 60. Keys of mappings become text again,
in the form of what they mean.
"""

import re
import struct
from typing import Any

from reroll.manifests.text.nodes import (
    MERGE,
    NULLS,
    KeyNode,
    Node,
    ScalarNode,
    SequenceNode,
    is_merge,
    merged_into,
    resolve,
)

_CONSTANTS: dict[str, bool | float | None] = {
    **dict.fromkeys(
        ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True
    ),
    **dict.fromkeys(
        ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False
    ),
    **dict.fromkeys(NULLS, None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
}
_FIRST = frozenset("0123456789+-.")
"""How numbers begin."""
_INTEGER = re.compile(r"[-+]?(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_TAGS = frozenset(
    f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float", "timestamp")
)
"""Tags that say that a scalar is read as one without quotes; any other says that it is text."""
_LONGEST_NUMBER = 400
"""No number of Kubernetes has so many digits, and reading one takes time with their square."""


def meaning(scalar: ScalarNode) -> str | bool | int | float | None:
    """The value of a scalar: text, a number, a boolean or nothing."""
    if scalar.tag in _TAGS or not (scalar.style or scalar.tag):
        return plain_meaning(scalar.text)
    return scalar.text


def plain_meaning(text: str) -> str | bool | int | float | None:
    """The value of a scalar that is written without quotes."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text[0] not in _FIRST or len(text) > _LONGEST_NUMBER:
        return text
    digits = text.replace("_", "") if text[0] != "." else text
    if _INTEGER.fullmatch(digits):
        return _integer(digits)
    return float(digits) if _FLOAT.fullmatch(digits) else text


def _integer(digits: str) -> int:
    unsigned = digits.lstrip("+-")
    if len(unsigned) > 1 and unsigned[0] == "0" and unsigned[1].isdecimal():
        value = int(unsigned, 8)
    else:
        value = int(unsigned, 0)
    return -value if digits[0] == "-" else value


def value_of(node: Node) -> Any:
    """The whole of a node, as the API server would be sent it: aliases and merges written out."""
    here = resolve(node)
    if isinstance(here, ScalarNode):
        return meaning(here)
    if isinstance(here, SequenceNode):
        return [value_of(each) for each in here.children]
    if here.repeated:
        here.check_unique()
    own = {key_of(key): value_of(each) for key, each in here.pairs() if key.text != MERGE}
    if len(own) * 2 == len(here.children):
        return own
    for key, each in here.pairs():
        if key.text == MERGE and not is_merge(key):
            own[MERGE] = value_of(each)
    for merged in merged_into(here):
        own = value_of(merged) | own
    return own


def key_of(key: KeyNode) -> str:
    """The name of an entry in JSON."""
    scalar = resolve(key)
    assert isinstance(scalar, ScalarNode)  # noqa: S101  the composer lets nothing else be a key
    found = meaning(scalar)
    if isinstance(found, str):
        return found
    if isinstance(found, float):
        return _shortest(found)
    return str(found).lower() if found is not None else "null"


def _shortest(number: float) -> str:
    """A number in the fewest digits that tell it from others of 32 bits, as Go writes it."""
    if number != number or abs(number) == float("inf"):  # noqa: PLR0124  only NaN is not itself
        return {"nan": "NaN", "inf": "+Inf", "-inf": "-Inf"}[str(number)]
    try:
        wanted = struct.pack("f", number)
    except OverflowError:
        return "-Inf" if number < 0 else "+Inf"
    digits = next((n for n in range(9) if struct.pack("f", float(f"{number:.{n}e}")) == wanted), 8)
    written = f"{number:.{digits}e}"
    exponent = int(written.partition("e")[2])
    if -4 <= exponent < 6:
        return f"{number:.{max(digits - exponent, 0)}f}"
    return written
