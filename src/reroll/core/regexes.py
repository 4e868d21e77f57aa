"""Regular expressions over the names of sources, matched in linear time.

People write them in annotations that others read for them, so none may cost more than its length
times that of a name: there is no backtracking. The syntax is the part of Go's that can matter for
names; what is left out is told. A match is always of the whole name.
"""

from functools import lru_cache
from typing import NamedTuple

LONGEST = 1000
MOST_STATES = 5000
_ALPHABET = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-.")
_DIGITS = frozenset("0123456789")
_WORD = _ALPHABET - frozenset("-.")
_CLASSES = {
    "d": _DIGITS,
    "D": _ALPHABET - _DIGITS,
    "w": _WORD,
    "W": _ALPHABET - _WORD,
    "s": frozenset[str](),
    "S": _ALPHABET,
}
_ANCHORS = {"A": "^", "z": "$"}

Characters = frozenset[str]


class OneOf(NamedTuple):
    """One of these characters."""

    of: Characters


class At(NamedTuple):
    """The beginning (`^`) or the end (`$`)."""

    edge: str


class Row(NamedTuple):
    parts: tuple["Node", ...]


class Either(NamedTuple):
    choices: tuple["Node", ...]


class Repeat(NamedTuple):
    what: "Node"
    least: int
    most: int | None


Node = OneOf | At | Row | Either | Repeat


class _Parser:
    """Text to tree; a `ValueError` says what is wrong with the text."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0

    def parse(self) -> Node:
        found = self._either()
        if self._at < len(self._text):
            raise ValueError("has a ) too many")
        return found

    def _next(self, expected: str = "") -> str:
        """The next character, if it is one of those expected, and step over it."""
        here = self._text[self._at : self._at + 1]
        if not here or (expected and here not in expected):
            return ""
        self._at += 1
        return here

    def _either(self) -> Node:
        choices = [self._row()]
        while self._next("|"):
            choices.append(self._row())
        return choices[0] if len(choices) == 1 else Either(tuple(choices))

    def _row(self) -> Node:
        parts = []
        while self._at < len(self._text) and self._text[self._at] not in "|)":
            parts.append(self._repeated(self._one()))
        return Row(tuple(parts))

    def _repeated(self, what: Node) -> Node:
        bounds = self._bounds()
        if bounds is None:
            return what
        self._next("?")  # As few as possible: the same for a match of the whole.
        if self._bounds() is not None:
            raise ValueError("repeats a repetition; put it in parentheses")
        return Repeat(what, *bounds)

    def _bounds(self) -> tuple[int, int | None] | None:
        sign = self._next("*+?")
        if sign:
            return {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
        here, end = self._at, self._text.find("}", self._at)
        if self._text[here : here + 1] != "{" or end < 0:
            return None
        low, comma, high = self._text[here + 1 : end].partition(",")
        if not low.isdecimal() or not (high.isdecimal() or not high):
            return None  # Then the brace is just a character, as Go has it.
        self._at = end + 1
        least, most = int(low[:5]), int(high[:5]) if high else None if comma else int(low[:5])
        if least > 1000 or (most is not None and not least <= most <= 1000):
            raise ValueError("repeats something too often, or less than it at least does")
        return least, most

    def _one(self) -> Node:
        sign = self._next()
        match sign:
            case "(":
                return self._group()
            case "[":
                return OneOf(self._class())
            case ".":
                return OneOf(_ALPHABET)
            case "^" | "$":
                return At(sign)
            case "\\":
                return self._escape()
            case "*" | "+" | "?":
                raise ValueError(f"has nothing before {sign} to repeat")
        return OneOf(frozenset(sign) & _ALPHABET)

    def _group(self) -> Node:
        if self._next("?"):
            if self._next("P") or self._text[self._at : self._at + 1] == "<":
                end = self._text.find(">", self._at)
                self._at = end + 1 if end > 0 else len(self._text)
            elif not self._next(":"):
                raise ValueError("has a group with flags, which cannot be used here")
        found = self._either()
        if not self._next(")"):
            raise ValueError("has a ( without its )")
        return found

    def _escape(self) -> Node:
        sign = self._next()
        if sign in _ANCHORS:
            return At(_ANCHORS[sign])
        return OneOf(self._escaped(sign))

    @staticmethod
    def _escaped(sign: str) -> Characters:
        if sign in _CLASSES:
            return _CLASSES[sign]
        if not sign or sign.isalnum():
            raise ValueError(f"has \\{sign}, which cannot be used here")
        return frozenset(sign) & _ALPHABET

    def _class(self) -> Characters:
        negated = bool(self._next("^"))
        found: set[str] = set()
        first = True
        while first or self._text[self._at : self._at + 1] != "]":
            found |= self._range()
            first = False
        self._next("]")
        return _ALPHABET - found if negated else _ALPHABET & found

    def _range(self) -> Characters:
        low = self._next()
        if not low:
            raise ValueError("has a [ without its ]")
        if low == "[" and self._text[self._at : self._at + 1] == ":":
            raise ValueError("has a class like [:alpha:], which cannot be used here")
        if low == "\\":
            return self._escaped(self._next())
        following = self._text[self._at : self._at + 2]
        if not following.startswith("-") or following in {"-", "-]"}:
            return frozenset(low)
        self._at += 1
        high = self._next()
        if high == "\\":
            high = self._next()
        if high < low:
            raise ValueError(f"has a range {low}-{high} that is the wrong way round")
        return frozenset(c for c in _ALPHABET if low <= c <= high)


class Regex:
    """An automaton: a state is a number, and being in several at once is what makes it linear."""

    def __init__(self, tree: Node) -> None:
        self._steps: list[tuple[Characters, int] | None] = []
        self._jumps: list[list[tuple[str, int]]] = []
        self._end = self._build(tree, self._state())

    def matches(self, name: str) -> bool:
        now = self._reach({0}, start=True, end=not name)
        for place, character in enumerate(name, 1):
            steps = (self._steps[state] for state in now)
            after = {step[1] for step in steps if step and character in step[0]}
            if not after:
                return False
            now = self._reach(after, start=False, end=place == len(name))
        return self._end in now

    def _reach(self, states: set[int], *, start: bool, end: bool) -> set[int]:
        """All states that can be had without another character."""
        reached, todo = set(states), list(states)
        while todo:
            for edge, target in self._jumps[todo.pop()]:
                allowed = {"": True, "^": start, "$": end}[edge]
                if allowed and target not in reached:
                    reached.add(target)
                    todo.append(target)
        return reached

    def _state(self) -> int:
        if len(self._steps) >= MOST_STATES:
            raise ValueError("is too large")
        self._steps.append(None)
        self._jumps.append([])
        return len(self._steps) - 1

    def _build(self, node: Node, start: int) -> int:
        """Add the states of `node` from `start` on; the state at its end."""
        match node:
            case OneOf(of):
                end = self._state()
                self._steps[start] = (of, end)
                return end
            case At(edge):
                return self._jump(start, self._state(), edge)
            case Row(parts):
                for part in parts:
                    start = self._build(part, self._jump(start, self._state()))
                return start
            case Either(choices):
                ends = [self._build(each, self._jump(start, self._state())) for each in choices]
                end = self._state()
                for each in ends:
                    self._jump(each, end)
                return end
            case Repeat(what, least, most):
                return self._repeat(what, least, most, start)

    def _repeat(self, what: Node, least: int, most: int | None, start: int) -> int:
        for _ in range(least):
            start = self._build(what, self._jump(start, self._state()))
        if most is None:
            loop = self._jump(start, self._state())
            self._jump(self._build(what, self._jump(loop, self._state())), loop)
            return self._jump(loop, self._state())
        end = self._state()
        for _ in range(most - least):
            self._jump(start, end)
            start = self._build(what, self._jump(start, self._state()))
        return self._jump(start, end)

    def _jump(self, origin: int, target: int, edge: str = "") -> int:
        self._jumps[origin].append((edge, target))
        return target


@lru_cache(maxsize=512)
def compiled(text: str) -> Regex:
    """The expression; a `ValueError` says what is wrong with it."""
    if len(text) > LONGEST:
        raise ValueError(f"is longer than {LONGEST} characters")
    try:
        return Regex(_Parser(text).parse())
    except RecursionError:
        raise ValueError("is nested too deeply") from None


def is_plain(text: str) -> bool:
    """Whether it can only mean the one name that it is written like."""
    return bool(text) and _ALPHABET - {"."} >= frozenset(text)
