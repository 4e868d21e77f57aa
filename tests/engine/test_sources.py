"""What is known of sources, whatever the order in which it came."""

import msgspec

from reroll.core.model.content import Content
from reroll.core.model.key import Key
from reroll.core.model.reference import Reference
from reroll.core.observe.snapshot import Absence
from reroll.core.policy.policy import Policy
from reroll.core.tables.catalog import source_kind
from reroll.engine.content import Source
from reroll.engine.globs import Globs
from reroll.engine.scope import Scope
from reroll.engine.sources import Sources
from reroll.engine.wants import SourceContent, Want

SECRET = source_kind("secret")
DB, WEB = Key("Secret", "shop", "db"), Key("Deployment", "shop", "web")


class Unexpanded:
    def met(self, source: Key) -> None: ...

    def named_keys(self, user: Key, source: Key) -> frozenset[str]:
        return frozenset()

    def expanded(self, kind: str, namespace: str) -> None: ...


def asking(asked: list[Want]) -> Sources:
    return Sources(
        Scope(Policy()),
        Globs(),
        Key("Secret", "reroll", "keys"),
        want=asked.append,
        notice=lambda *_: None,
        references=Unexpanded(),
    )


def answer() -> Source:
    return msgspec.json.decode(
        b'{"metadata":{"namespace":"shop","name":"db","resourceVersion":"7"}}', type=Source
    )


def test_what_was_asked_for_before_its_watch_was_refused_does_not_count_as_read() -> None:
    asked: list[Want] = []
    sources = asking(asked)
    assert SECRET
    sources.link(WEB, set(), {DB: Reference(DB)})
    assert asked == [SourceContent(DB)]

    sources.refused("Secret", None)
    sources.observe(SECRET, answer(), watched=False)
    assert sources.content(DB) is Absence.FORBIDDEN

    sources.allowed("Secret", None)
    sources.observe(SECRET, answer(), watched=False)
    assert isinstance(sources.content(DB), Content)


def test_what_was_refused_is_read_once_it_is_allowed() -> None:
    asked: list[Want] = []
    sources = asking(asked)
    assert SECRET
    sources.link(WEB, set(), {DB: Reference(DB)})
    sources.observe(SECRET, answer(), watched=False)
    sources.allowed("Secret", None)
    assert asked == [SourceContent(DB)]

    sources.refused("Secret", "shop")
    sources.refused("Secret", None)
    sources.allowed("Secret", "shop")
    assert asked == [SourceContent(DB)]

    sources.allowed("Secret", None)
    assert asked == [SourceContent(DB), SourceContent(DB)]
