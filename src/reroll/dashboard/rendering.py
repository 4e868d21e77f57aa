"""Pages as HTML: documents in, text out. Nothing is escaped by hand, and nothing is left unescaped.

A template sees the document of its page and a few words about the frame around it.
"""

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import urlencode

import jinja2
import msgspec
from markupsafe import Markup

from reroll.core.model.key import Key
from reroll.core.policy.durations import ago
from reroll.core.tables.kinds import api_kind
from reroll.dashboard.doors.token import SignIn
from reroll.dashboard.pages.graph import path_to
from reroll.dashboard.pages.timeline import bars, said, total
from reroll.dashboard.schema import Ref
from reroll.dashboard.sessions import Notice
from reroll.dashboard.states import drawn


class Item(NamedTuple):
    """A page in the navigation."""

    path: str
    title: str
    name: str
    help: str


class Frame(NamedTuple):
    """What stands around every page."""

    now: datetime
    path: str
    query: Mapping[str, str]
    version: str
    cluster: str
    nav: tuple[Item, ...]
    theme: str = ""
    """`light`, `dark`, or whatever the system has."""
    form_token: str = ""
    notices: tuple[Notice, ...] = ()
    problem: str = ""
    """Why what is shown is not newer."""
    namespaces: tuple[str, ...] = ()
    read_only: bool = False
    who: str = ""
    """Whose rights this page has; empty: those of whoever started it."""
    can_leave: bool = False

    @property
    def here(self) -> str:
        """The address of this page."""
        words = urlencode(dict(self.query))
        return f"{self.path}?{words}" if words else self.path

    def with_words(self, **words: str | int) -> str:
        """The same page with other words behind its question mark; empty ones are left out."""
        said = {**self.query, **{name: str(word) for name, word in words.items()}}
        if "page" not in words:
            said.pop("page", None)
        text = urlencode({name: word for name, word in said.items() if word})
        return f"{self.path}?{text}" if text else self.path


class Renderer:
    def __init__(self) -> None:
        self._pages = jinja2.Environment(
            loader=jinja2.PackageLoader("reroll.dashboard"),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._pages.filters |= {
            "ref": ref_of,
            "short": short,
            "drawn": drawn,
            "bars": bars,
            "said": said,
            "total": total,
            "clean": clean,
        }
        self._pages.globals |= {"path_to": lambda page, one: path_to(page, ref_of(one).key)}

    def page(self, template: str, frame: Frame, **words: Any) -> str:
        """`words` are what the template knows besides the frame."""
        when = _When(frame.now)
        return self._pages.get_template(template).render(
            frame=frame, ago=when.ago, until=when.until, **words
        )

    def alone(self, template: str, **words: Any) -> str:
        return self._pages.get_template(template).render(**words)

    @staticmethod
    def svg(text: str) -> Markup:
        """A picture that was made by `answers.graph.svg`, which escapes every name."""
        return Markup(text)  # noqa: S704


@cache
def _renderer() -> Renderer:
    return Renderer()


def sign_in_page(shown: SignIn) -> str:
    """It stands alone: who is not known gets no frame around it."""
    return _renderer().alone("sign_in.html", shown=shown)


class _When:
    def __init__(self, now: datetime) -> None:
        self._now = now

    def ago(self, text: str | None) -> str:
        """`3 minutes ago`; empty if it is not known."""
        return ago(datetime.fromisoformat(text), self._now) if text else ""

    def until(self, text: str | None) -> str:
        """`14:05 UTC`, with the day if that is not today; empty if it is over or not known."""
        if not text:
            return ""
        then = datetime.fromisoformat(text)
        if then <= self._now:
            return ""
        is_today = then.date() == self._now.date()
        return then.strftime("%H:%M:%S UTC" if is_today else "%Y-%m-%d %H:%M UTC")


def ref_of(one: Any) -> Ref:
    """Of a reference, or of what a command's document has in its place."""
    if isinstance(one, Ref):
        return one
    if isinstance(one, Key):
        return Ref.of(one)
    return msgspec.convert({name: one[name] for name in ("kind", "namespace", "name")}, Ref)


def clean(text: str) -> str:
    """A sentence, though it was the end of one; a name stays as it is written."""
    rest = text.lstrip(" ,:;")
    first = rest.partition(" ")[0].rstrip(",:;.")
    return rest[:1].upper() + rest[1:] if first.isalpha() else rest


def short(one: Any) -> str:
    """As people name it on a command line: `deployment/web`."""
    ref = ref_of(one)
    return f"{api_kind(ref.kind).lower()}/{ref.name}"
