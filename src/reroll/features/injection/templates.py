"""Renders a template over several keys; a mistake is a sentence with its line.

Only what cannot run long or grow large is allowed of Jinja2's sandbox: variables, the filters of
the table below, and `if`. No loops, no calls, no attributes. Jinja2 is imported here only, and this
module only where an Injection has a template.
"""

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from urllib.parse import quote

from jinja2 import StrictUndefined, TemplateSyntaxError, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from reroll.core.model.injection import LARGEST

DEEPEST = 4
"""Filters in a row: each may make its input larger."""


class TemplateError(ValueError):
    """A template that cannot be used; the sentence holds no value."""


def _b64decode(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode()
    except ValueError:
        raise TemplateError("b64decode: the input is not text in base64") from None


FILTERS: dict[str, Callable[[str], str]] = {
    "b64encode": lambda text: base64.b64encode(text.encode()).decode(),
    "b64decode": _b64decode,
    "tojson": lambda text: json.dumps(text, ensure_ascii=False),
    "urlencode": lambda text: quote(text, safe=""),
    "trim": str.strip,
    "upper": str.upper,
    "lower": str.lower,
}
"""Text to text: quoted for JSON, for a URL, in base64, without white space at both ends."""

_ALLOWED = (
    nodes.Template,
    nodes.Output,
    nodes.TemplateData,
    nodes.Name,
    nodes.Const,
    nodes.Filter,
    nodes.If,
    nodes.Compare,
    nodes.Operand,
    nodes.And,
    nodes.Or,
    nodes.Not,
)


class _Environment(ImmutableSandboxedEnvironment):
    """Nothing of the library's own filters, tests and functions."""

    def __init__(self) -> None:
        super().__init__(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)
        self.filters = dict(FILTERS)
        self.tests, self.globals = {}, {}


_WRONG = (ArithmeticError, LookupError, RecursionError, SyntaxError, TypeError, ValueError)
"""What a template can raise when it is parsed, compiled or rendered."""


def _sentence(error: Exception) -> str:
    """What is wrong; errors of Python may quote a value, so their own words are not shown."""
    match error:
        case TemplateError():
            return str(error)
        case RecursionError() | SyntaxError():
            return "it is nested too deeply"
        case TypeError():
            return "it compares or filters something that is not text"
    return "it has a number or a character that cannot be used"


def check(template: str, names: set[str]) -> str:
    """The first mistake in a template, in a sentence; empty if there is none."""
    try:
        return next(_mistakes(_Environment().parse(template), names), "")
    except TemplateSyntaxError as error:
        return f"spec.template: line {error.lineno}: {error.message}"
    except _WRONG as error:
        return f"spec.template: {_sentence(error)}"


def render(template: str, variables: Mapping[str, str]) -> str:
    """The text; `TemplateError` where it cannot be made, or is too large."""
    if mistake := check(template, set(variables)):
        raise TemplateError(mistake)
    try:
        return "".join(_limited(_Environment().from_string(template).generate(**variables)))
    except _WRONG as error:
        raise TemplateError(f"spec.template: {_line_of(error)}{_sentence(error)}") from None


def _limited(parts: Iterator[str]) -> Iterator[str]:
    size = 0
    for part in parts:
        size += len(part.encode())
        if size > LARGEST:
            raise TemplateError(f"its result has more than {LARGEST} bytes")
        yield part


def _line_of(error: Exception) -> str:
    """Jinja2 puts the lines of the template into the traceback."""
    line, here = "", error.__traceback__
    while here is not None:
        if here.tb_frame.f_code.co_filename == "<template>":
            line = f"line {here.tb_lineno}: "
        here = here.tb_next
    return line


def _mistakes(node: nodes.Node, names: set[str]) -> Iterator[str]:
    line = f"spec.template: line {node.lineno}:"
    if not isinstance(node, _ALLOWED):
        allowed = "only variables, filters and `if` can"
        yield f"{line} {_word(node)} cannot be used in a template; {allowed}"
        return
    if isinstance(node, nodes.Name) and node.name not in names:
        yield f"{line} there is no variable {node.name}; spec.from has {', '.join(sorted(names))}"
    if isinstance(node, nodes.Filter):
        yield from _wrong_filter(node, line)
    for child in node.iter_child_nodes():
        yield from _mistakes(child, names)


def _wrong_filter(node: nodes.Filter, line: str) -> Iterator[str]:
    if node.name not in FILTERS:
        yield f"{line} there is no filter {node.name}; the filters are {', '.join(FILTERS)}"
    elif node.args or node.kwargs or node.dyn_args or node.dyn_kwargs:
        yield f"{line} the filter {node.name} takes no arguments"
    depth, inner = 1, node.node
    while isinstance(inner, nodes.Filter):
        depth, inner = depth + 1, inner.node
    if depth > DEEPEST:
        yield f"{line} more than {DEEPEST} filters in a row"


def _word(node: nodes.Node) -> str:
    return {
        "Getattr": "an attribute (`.name`)",
        "Getitem": "an item (`[…]`)",
        "Call": "a call",
        "For": "a loop",
    }.get(type(node).__name__, f"`{type(node).__name__.lower()}`")
