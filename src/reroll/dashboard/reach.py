"""Where somebody may look: everywhere, or in some namespaces.

Who may list workloads in a few namespaces only may not list Namespaces either. So the dashboard
knows their names itself, and asks the API server as that person which of them they may look into;
no other name is ever shown to them.
"""

from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase

import msgspec

from reroll.core.model.windows import WindowRow
from reroll.core.tables.kinds import KINDS, Revisions
from reroll.core.tables.rights import Feature
from reroll.features.checkup.access import Question, ask
from reroll.kube import api, resources
from reroll.kube.client import Client
from reroll.kube.errors import Forbidden
from reroll.kube.objects import Stub

MOST_ASKED = 2000
MOST = 100
"""Namespaces that somebody sees at once; each is listed by itself."""
_LOOKED_FOR = tuple(
    kind for kind in KINDS if kind.group == "apps" and kind.revisions is not Revisions.NONE
)
"""Who may list one of these in a namespace may look into it."""


async def reach(mine: Client, keeper: Client, named: Sequence[str] = ()) -> tuple[str, ...] | None:
    """The namespaces to list one by one; empty: all of them at once; `None`: there are none.

    `named`: no others count.
    """
    if not named and await _may_look(mine, [""]):
        return ()
    there = list(named) or await _namespaces(mine, keeper)
    return tuple((await _may_look(mine, there[:MOST_ASKED]))[:MOST]) or None


def seen_rows(rows: Iterable[WindowRow], within: Sequence[str]) -> Iterator[WindowRow]:
    """Windows of the config file, without the names of other namespaces. Pure."""
    for row in rows:
        here = [one for one in within if any(fnmatchcase(one, glob) for glob in row.namespaces)]
        yield msgspec.structs.replace(row, namespaces=tuple(here))


async def _may_look(mine: Client, places: Sequence[str]) -> list[str]:
    found: set[str] = set()
    for kind in _LOOKED_FOR:
        questions = [
            Question(Feature.ROLLING, "list", kind.group, kind.plural, place)
            for place in places
            if place not in found
        ]
        lacking = set(await ask(mine, questions))
        found |= {one.namespace for one in questions if one not in lacking}
    return [place for place in places if place in found]


async def _namespaces(mine: Client, keeper: Client) -> list[str]:
    for client in dict.fromkeys((mine, keeper)):
        try:
            listed = await api.every(client, resources.NAMESPACES, None, Stub, metadata_only=True)
        except Forbidden:
            continue
        return sorted(one.metadata.name for one in listed)
    return []
