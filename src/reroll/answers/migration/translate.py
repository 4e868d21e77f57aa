"""What another tool is told, turned into our settings.

Pure. Words of a command line, environment variables and values of a Helm chart all become lines:
what was given, what becomes of it, and what to know about it. Everything that is wrong is told at
once.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

from reroll.answers.migration import reloader, wave
from reroll.answers.migration.alerts import NOTICES, notices
from reroll.answers.migration.rows import Fate, Row, Takes, Value, as_text, truth
from reroll.settings.resolve import SettingsError, resolve
from reroll.settings.table import SETTINGS


class Tool(NamedTuple):
    """A tool that people come from."""

    name: str
    title: str
    flags: tuple[Row, ...]
    variables: tuple[Row, ...]
    values: tuple[Value, ...]
    features: Mapping[str, str] = {}
    """What it does that our chart has to be asked for, each with the kind that it is done to."""

    def row(self, name: str) -> Row | None:
        """The row of a flag or variable; Go takes one dash or two."""
        flag = f"--{name.lstrip('-')}" if name.startswith("-") else name
        return next((row for row in (*self.flags, *self.variables) if row.name == flag), None)


TOOLS = (
    Tool(
        *("reloader", "Reloader", reloader.FLAGS, reloader.VARIABLES, reloader.VALUES),
        {"trigger": "CronJob", "recreate": "Job"},
    ),
    Tool("wave", "Wave", wave.FLAGS, wave.VARIABLES, wave.VALUES),
)


class Line(NamedTuple):
    """One thing that the other tool was told."""

    given: str
    fate: Fate
    word: str = ""
    setting: str = ""
    value: Any = None


class Translation(NamedTuple):
    tool: Tool
    lines: tuple[Line, ...]
    settings: dict[str, Any]
    """As a config file of ours has them, in the order of our table."""
    values: Mapping[str, Any] = {}
    """Of our chart, beside `settings`."""

    @property
    def chart(self) -> dict[str, Any]:
        """All values of our chart, which has the dialects apart."""
        left = self.settings.get("exclude-kinds", ())
        needed = {name: True for name, kind in self.tool.features.items() if kind not in left}
        settings = {key: value for key, value in self.settings.items() if key != "dialects"}
        parts = {"dialects": {self.tool.name: True}, "settings": settings, "features": needed}
        return {**{name: part for name, part in parts.items() if part}, **self.values}

    @property
    def flags(self) -> list[str]:
        """The settings as a command line."""
        rows = self.settings.items()
        return [f"--{key}={as_text(value)}" for key, value in rows if key != NOTICES]


class Wrong(Exception):  # noqa: N818  what was given is wrong, and this says how
    """All that is wrong with what was given, a sentence each."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


class Given(NamedTuple):
    """A row, what it was given, and how that is shown."""

    row: Row
    text: str
    shown: str


def of_command(argv: Sequence[str], tool: Tool | None = None) -> Translation:
    """A command line, its program's name or not, with `NAME=value` for environment variables."""
    tool = tool or _recognised([word for word in argv if word.startswith("-")], "flags")
    problems: list[str] = []
    return _translation(tool, _words(tool, argv, problems), (), problems)


def of_container(
    command: Sequence[str], variables: Mapping[str, str | None], tool: Tool
) -> Translation:
    """What a container is told; a variable is `None` where its value comes from elsewhere."""
    problems: list[str] = []
    given = list(_words(tool, command, problems))
    for name, value in variables.items():
        if (row := tool.row(name)) and not row.is_flag and value is not None:
            given.append(_given(row, value))
    try:
        return _translation(tool, given, _told(problems), [])
    except Wrong as wrong:
        problems += wrong.problems
        return Translation(tool, tuple(_told(problems)), {})


def of_values(values: Mapping[str, Any], tool: Tool | None = None) -> Translation:
    """The values of a Helm chart."""
    tool = tool or _recognised([path for path, _ in _leaves(values, "")], "values")
    given: list[Given] = []
    lines: list[Line] = []
    problems: list[str] = []
    kept: dict[str, Any] = {}
    for path, value in _known_leaves(tool, values, ""):
        row = _value_row(tool, path)
        if row and row.chart:
            if value not in (None, "", [], {}):
                _put(kept, row.chart, value)
                lines.append(Line(path, row.fate, row.word, row.chart, value))
            continue
        if value in (None, "", [], {}, False) and (row is None or row.flag or row.to):
            continue
        if row is None:
            lines.append(Line(path, Fate.MISSING, f"the chart of {tool.title} knows no such value"))
        elif row.flag and (told := tool.row(row.flag)):
            text = row.to or as_text(value)
            shown = path if row.private or told.private else f"{path}: {as_text(value)}"
            if not row.private or told.fate is not Fate.SETTING or told.setting == NOTICES:
                given.append(Given(told, text, shown))
        else:
            lines.append(Line(path, row.fate_of(value), row.word))
    return _translation(tool, given, lines, problems)._replace(values=kept)


def _put(values: dict[str, Any], path: str, value: Any) -> None:
    *steps, last = path.split(".")
    for step in steps:
        values = values.setdefault(step, {})
    values[last] = value


def tool_named(name: str) -> Tool:
    return next(tool for tool in TOOLS if tool.name == name)


def _words(tool: Tool, argv: Sequence[str], problems: list[str]) -> Iterator[Given]:
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        name, equals, text = word.partition("=")
        row = tool.row(name)
        if not word.startswith("-"):
            if row and equals:
                yield _given(row, text)
            elif equals and name.isupper():
                problems.append(f"{name}: {tool.title} reads no such environment variable")
            continue
        if row is None:
            problems.append(f"{name}: {tool.title} has no such flag{_nearest(name, tool)}")
            continue
        if not equals and row.takes is Takes.SWITCH:
            text = "true"
        elif not equals:
            if not rest:
                problems.append(f"{name}: a value has to follow")
                continue
            text = rest.pop(0)
        yield _given(row, text)


def _given(row: Row, text: str) -> Given:
    return Given(row, text, row.name if row.private else f"{row.name}={text}")


def _translation(
    tool: Tool, given: Iterable[Given], lines: Iterable[Line], problems: list[str]
) -> Translation:
    found: dict[str, Any] = {"dialects": ["reroll", tool.name]}
    told = [*lines]
    for one in _in_order(given):
        row = one.row
        try:
            if row.takes is Takes.SWITCH:
                truth(one.text)
            value = row.turn(one.text) if row.fate is Fate.SETTING else None
        except ValueError as error:
            problems.append(f"{one.shown}: {one.text!r} {error}")
            continue
        if row.fate is Fate.SETTING and value is None:
            told.append(Line(one.shown, Fate.UNNEEDED, "that is how Reroll is without it"))
            continue
        told.append(Line(one.shown, row.fate, row.word, row.setting, value))
        if row.setting:
            found[row.setting] = _together(found.get(row.setting), value)
    alerts = found.pop(NOTICES, {})
    if rows := notices(alerts):
        found[NOTICES] = rows
    if "webhook" in alerts:
        found["strategy"] = "notify"
    told = [_beside(tool, line, found) for line in told]
    keys = (*(row.key for row in SETTINGS), NOTICES)
    settings = {key: found[key] for key in keys if key in found}
    try:
        resolve({}, {}, settings, tool.title)
    except SettingsError as error:
        problems += error.problems
    if problems:
        raise Wrong(problems)
    return Translation(tool, tuple(told), settings)


def _in_order(given: Iterable[Given]) -> list[Given]:
    """Flags come before variables that say the same; a flag that is not a list counts last."""
    found = list(given)
    flagged = {one.row.setting for one in found if one.row.is_flag}
    several = {"", NOTICES}
    kept = [one for one in found if one.row.is_flag or one.row.setting not in flagged - several]
    last = {one.row.name: one for one in kept}
    return [one for one in kept if one.row.takes is Takes.LIST or last[one.row.name] is one]


def _together(before: Any, value: Any) -> Any:
    """What a flag means that was given again: lists and selectors grow."""
    if isinstance(before, list) and isinstance(value, list):
        return list(dict.fromkeys([*before, *value]))
    if isinstance(before, dict) and isinstance(value, dict):
        return {**before, **value}
    if isinstance(before, str) and isinstance(value, str):
        return f"{before},{value}"
    return value


def _beside(tool: Tool, line: Line, found: dict[str, Any]) -> Line:
    """What becomes of a line in the company of others."""
    if line.setting == NOTICES and NOTICES not in found:
        word = f"{tool.title} sends nothing without ALERT_ON_RELOAD=true"
        return Line(line.given, Fate.UNNEEDED, word)
    if line.setting != "namespace-selector" or "namespaces" not in found:
        return line
    found.pop(line.setting, None)
    word = f"{tool.title} ignores it where there is a list of namespaces"
    return Line(line.given, Fate.UNNEEDED, word)


def _told(problems: Iterable[str]) -> Iterator[Line]:
    for problem in problems:
        given, _, word = problem.partition(": ")
        yield Line(given, Fate.MISSING, word)


def _recognised(names: Sequence[str], what: str) -> Tool:
    """The one tool that knows the most of them."""
    known = {tool.name: sum(map(bool, _knows(tool, names, what))) for tool in TOOLS}
    best = max(known.values())
    found = [tool for tool in TOOLS if known[tool.name] == best]
    if len(found) == 1:
        return found[0]
    told = ", ".join(names[:3]) or "nothing"
    choices = " or ".join(f"--from {tool.name}" for tool in TOOLS)
    raise Wrong([f"{told}: these {what} do not show which tool they are for; add {choices}"])


def _knows(tool: Tool, names: Sequence[str], what: str) -> Iterator[object]:
    if what == "flags":
        return (tool.row(name.partition("=")[0]) for name in names)
    return (_value_row(tool, name) for name in names)


def _value_row(tool: Tool, path: str) -> Value | None:
    """The row of a value: its own, or that of what it is a part of."""
    while path:
        for row in tool.values:
            if row.path == path:
                return row
        path = path.rpartition(".")[0]
    return None


def _known_leaves(tool: Tool, values: Mapping[str, Any], path: str) -> Iterator[tuple[str, Any]]:
    """Values down to where the table has a row, so that a group is told once."""
    paths = [row.path for row in tool.values]
    for key, value in values.items():
        here = f"{path}.{key}" if path else str(key)
        deeper = any(known.startswith(f"{here}.") for known in paths)
        if isinstance(value, Mapping) and value and deeper:
            yield from _known_leaves(tool, value, here)
        else:
            yield here, value


def _leaves(values: Mapping[str, Any], path: str) -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        here = f"{path}.{key}" if path else str(key)
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, here)
        else:
            yield here, value


def _nearest(name: str, tool: Tool) -> str:
    near = get_close_matches(name, [row.name for row in tool.flags], 1, 0.8)
    return f"; did you mean {near[0]}?" if near else ""
