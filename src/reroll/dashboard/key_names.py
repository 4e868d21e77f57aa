"""Names of keys of Secrets: only who may get a Secret is told them. Pure, but for the question.

What a record, a template or `managedFields` say of the keys of a ConfigMap is shown as it is.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from reroll.answers.history.history import source_of
from reroll.core.model.key import Key
from reroll.dashboard.desk import Desk
from reroll.dashboard.overview import Facts

May = Mapping[Key, bool]


def named_secrets(past: Iterable[Facts], sources: Iterable[Facts] = ()) -> list[Key]:
    """The Secrets that entries of a history and sources of a workload are about."""
    found = {
        source
        for entry in past
        for part in entry["sources"]
        if (source := source_of(part["entry"], entry["workload"]["namespace"]))
    }
    found |= {Key(one["kind"], one["namespace"], one["name"]) for one in sources}
    return sorted(key for key in found if key.kind == "Secret")


async def without_key_names(desk: Desk, past: Sequence[Facts]) -> list[dict[str, Any]]:
    """A history, without the names that the user may not know."""
    may = await desk.may_get(named_secrets(past))
    return [entry_without(entry, may) for entry in past]


def entry_without(entry: Facts, may: May) -> dict[str, Any]:
    """One entry of a history. The keys of a roll are those of all its sources together."""
    home, is_closed = entry["workload"]["namespace"], False
    parts = []
    for part in entry["sources"]:
        source = source_of(part["entry"], home)
        if source is not None and not may.get(source, source.kind != "Secret"):
            is_closed = True
            part = {**part, "entry": part["entry"].partition("#")[0]}  # noqa: PLW2901
        parts.append(part)
    keys = [] if is_closed else list(entry["keys"])
    return {**entry, "sources": parts, "keys": keys}


def explanation_without(facts: Facts, may: May) -> dict[str, Any]:
    """What `reroll explain` tells, in the same way."""
    sources = []
    is_closed = False
    for one in facts["sources"]:
        key = Key(one["kind"], one["namespace"], one["name"])
        if may.get(key, key.kind != "Secret"):
            sources.append(one)
            continue
        is_closed = True
        uses = [{**use, "keys": None, "how": place(use["how"])} for use in one["uses"]]
        sources.append({**one, "uses": uses, "why": ""})
    record = facts["record"]
    if is_closed and record:
        by = [entry.partition("#")[0] for entry in record["by"] or ()]
        record = {**record, "by": by, "keys": []}
    declined = [entry.partition("#")[0] for entry in facts["declined"]]
    closed = {"record": record, "declined": declined} if is_closed else {}
    return {**facts, "sources": sources, **closed}


def place(how: str) -> str:
    """`env DB_PASSWORD` as `env`: the name of a variable often is that of the key."""
    return how.partition(" ")[0]
