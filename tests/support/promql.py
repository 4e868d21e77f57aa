"""Reads queries of Prometheus as far as it takes to see what they name: metrics, labels, values.

No evaluation. Whatever it does not know is an error, so that a query with a slip does not pass.
"""

import re
from typing import NamedTuple

AGGREGATIONS = frozenset(("sum", "min", "max", "avg", "count", "topk", "quantile"))
FUNCTIONS = frozenset(
    ("absent", "changes", "histogram_quantile", "increase", "rate", "vector", "time")
)
GROUPINGS = frozenset(("by", "without", "on", "ignoring", "group_left", "group_right"))
WORDS = frozenset(("and", "or", "unless", "bool"))
_TOKEN = re.compile(
    r"""\s*(?:(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)
    |(?P<string>"(?:[^"\\]|\\.)*")
    |(?P<range>\[(?:[0-9]+[smhdw]|\$__rate_interval)\])
    |(?P<duration>[0-9]+[smhdw])
    |(?P<number>[0-9]+(?:\.[0-9]+)?)
    |(?P<operator>==|!=|>=|<=|=~|!~|[-+*/%^<>=(){},]))""",
    re.VERBOSE,
)


class Matcher(NamedTuple):
    label: str
    operator: str
    value: str


class Query(NamedTuple):
    selectors: tuple[tuple[str, tuple[Matcher, ...]], ...]
    """Metric and what its labels have to be, in the order in which they stand."""
    groupings: tuple[frozenset[str], ...]
    """The labels of each `by`, `on` and so on."""


def parse(text: str) -> Query:
    return _Parser(text).query()


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = [*_tokens(text), ("end", "")]
        self._selectors: list[tuple[str, tuple[Matcher, ...]]] = []
        self._groupings: list[frozenset[str]] = []

    def query(self) -> Query:
        depth = 0
        while (token := self._next())[0] != "end":
            kind, value = token
            if kind == "name":
                self._name(value)
            elif value == "offset" or kind == "string":
                raise ValueError(f"{value} stands where it cannot")
            elif value in "({":
                depth += 1
                assert value == "(", "a selector without a metric"
            elif value in ")}":
                depth -= 1
                assert depth >= 0, "one parenthesis too many"
        assert depth == 0, "a parenthesis is missing"
        return Query(tuple(self._selectors), tuple(self._groupings))

    def _name(self, name: str) -> None:
        if name in GROUPINGS:
            self._groupings.append(self._labels())
        elif name in WORDS:
            return
        elif name == "offset":
            assert self._next()[0] == "duration", "offset needs a duration"
        elif self._tokens[0] == ("operator", "(") or (
            self._tokens[0][1] in GROUPINGS and name in AGGREGATIONS
        ):
            assert name in AGGREGATIONS | FUNCTIONS, f"there is no function {name}"
        else:
            self._selectors.append((name, self._matchers()))

    def _labels(self) -> frozenset[str]:
        assert self._next() == ("operator", "("), "labels stand in parentheses"
        found = set()
        while (token := self._next()) != ("operator", ")"):
            assert token[0] == "name" or token[1] == ",", f"{token[1]} is no label"
            found |= {token[1]} - {","}
        return frozenset(found)

    def _matchers(self) -> tuple[Matcher, ...]:
        if self._tokens[0] != ("operator", "{"):
            return ()
        self._next()
        found = []
        while (token := self._next()) != ("operator", "}"):
            if token == ("operator", ","):
                continue
            operator, value = self._next(), self._next()
            assert (token[0], value[0]) == ("name", "string"), f"{token[1]} {value[1]}"
            assert operator[1] in {"=", "!=", "=~", "!~"}, f"{operator[1]} compares no labels"
            found.append(Matcher(token[1], operator[1], value[1].strip('"')))
        return tuple(found)

    def _next(self) -> tuple[str, str]:
        return self._tokens.pop(0)


def _tokens(text: str) -> list[tuple[str, str]]:
    found, place = [], 0
    text = text.strip()
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise ValueError(f"{text[place : place + 20]!r} is no PromQL")
        found.append((str(match.lastgroup), match[match.lastgroup or 0]))
        place = match.end()
    return found
