"""Workloads and sources by name, from anywhere. Pure."""

from reroll.core.model.key import Key
from reroll.dashboard.overview import Node, Overview
from reroll.dashboard.pages.now import state_of
from reroll.dashboard.paging import Query, paged
from reroll.dashboard.schema import Hit, Ref, SearchPage


def search_page(seen: Overview, query: Query) -> SearchPage:
    """Every word has to be in kind, namespace or name; a name that begins with it comes first."""
    text = query.word("q")
    words = text.lower().split()
    found = [one for one in seen.nodes if all(word in one.text for word in words)]
    if query.namespace:
        found = [one for one in found if one.key.namespace == query.namespace]
    found.sort(key=lambda one: not any(map(one.key.name.startswith, words)))
    shown, paging = paged(found, query)
    hits = [
        Hit(node=Ref.of(one.key), source=one.is_source, state=_state(seen, one)) for one in shown
    ]
    return SearchPage(query=text, hits=hits, paging=paging)


def _state(seen: Overview, node: Node) -> str:
    key: Key = node.key
    if node.is_source:
        return "missing" if key in seen.graph.missing else ""
    facts = seen.facts.get(key)
    return state_of(facts) if facts else "not managed"
