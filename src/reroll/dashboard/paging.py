"""Long lists, a page at a time. Pure."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

from reroll.dashboard.schema import Paging

T = TypeVar("T")
SIZE = 50
LONGEST = 200
"""Characters of a word in an address that are read."""


class Query(NamedTuple):
    """What an address asks for behind its question mark."""

    words: Mapping[str, str]

    def word(self, name: str) -> str:
        return self.words.get(name, "")[:LONGEST].strip()

    @property
    def page(self) -> int:
        text = self.word("page")
        return max(1, int(text)) if text.isdecimal() and len(text) < 8 else 1

    @property
    def namespace(self) -> str:
        return self.word("namespace")


def paged(rows: Sequence[T], query: Query) -> tuple[list[T], Paging]:
    """The rows of the page that was asked for; the last one, if there are not so many."""
    pages = max(1, -(-len(rows) // SIZE))
    page = min(query.page, pages)
    begin = (page - 1) * SIZE
    return list(rows[begin : begin + SIZE]), Paging(page=page, pages=pages, total=len(rows))
