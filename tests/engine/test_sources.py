"""What is known of sources, whatever the order in which it came."""

import json

import msgspec
import pytest
from tests.support import build

from reroll.clock import SystemClock
from reroll.core.model.content import Content
from reroll.core.model.key import Key
from reroll.core.model.metadata import Manifest, Metadata
from reroll.core.model.reference import Reference
from reroll.core.observe.snapshot import Absence
from reroll.core.policy.policy import Policy
from reroll.core.tables import limits
from reroll.core.tables.catalog import source_kind
from reroll.core.tables.kinds import KINDS
from reroll.engine.content import Source
from reroll.engine.globs import Globs
from reroll.engine.scope import Scope
from reroll.engine.sources import Sources
from reroll.engine.wants import GlobMatches, SourceContent, Want, share
from reroll.engine.world import World

SECRET = source_kind("secret")
DB, WEB = Key("Secret", "shop", "db"), Key("Deployment", "shop", "web")


class Unexpanded:
    def met(self, source: Key) -> None: ...

    def named_keys(self, user: Key, source: Key) -> frozenset[str]:
        return frozenset()

    def expanded(self, want: GlobMatches, as_of: int) -> None: ...


def asking(asked: list[Want], told: list[Key] | None = None) -> Sources:
    """`told` gets the users that a change is noticed for."""
    noticed = [] if told is None else told
    return Sources(
        Scope(Policy()),
        Globs(),
        Key("Secret", "reroll", "keys"),
        want=asked.append,
        notice=lambda user, _: noticed.append(user),
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


def test_users_hear_of_a_change_by_name() -> None:
    """That is the order in which `reroll plan` says that a change would go."""
    told: list[Key] = []
    sources = asking([], told)
    users = [Key("Deployment", "shop", f"web-{number:02}") for number in range(40)]
    for user in reversed(users):
        sources.link(user, set(), {DB: Reference(DB)})

    sources.gone(DB, 8)

    assert told == users


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


# Sources of other namespaces

APP, SPY = Key("ConfigMap", "shop", "app"), Key("Deployment", "other", "spy")
READER = Key("Injection", "other", "reader")
CONFIGMAP = source_kind("configmap")


def world(woken: list[Key], wanted: list[Want]) -> World:
    return World(
        SystemClock(),
        Scope(Policy()),
        Key("Secret", "reroll", "keys"),
        wake=lambda key, _: woken.append(key),
        want=wanted.append,
    )


def spying(there: World, sources: str, name: str = "spy") -> Key:
    """A workload of another namespace that names these."""
    web = build.deployment(
        name, annotations={"reroll.dev/enabled": "true", "reroll.dev/sources": sources}
    )
    web["metadata"] |= {"namespace": "other", "uid": name, "resourceVersion": "5"}
    manifest = msgspec.json.decode(json.dumps(web), type=Manifest)
    there.workload_seen(KINDS[0], manifest)
    return Key("Deployment", "other", name)


def seen(
    there: World, kind: str, name: str, version: int, value: str = "1", **consents: str
) -> None:
    """A watch brings a source of the namespace `shop`."""
    keys = {f"reroll.dev/{key.replace('_', '-')}": text for key, text in consents.items()}
    metadata = {
        "namespace": "shop", "name": name, "resourceVersion": str(version), "annotations": keys,
    }  # fmt: skip
    row = source_kind(kind.lower())
    assert row
    if row.keyed:
        there.sources.metadata_seen(
            Key(kind, "shop", name), msgspec.convert(metadata, Metadata), watched=True
        )
    else:
        text = json.dumps({"metadata": metadata, "data": {"a": value}})
        there.sources.observe(row, msgspec.json.decode(text, type=Source), watched=True)


@pytest.mark.parametrize("kind", ["ConfigMap", "Secret"])
def test_a_glob_makes_nothing_known_that_does_not_let_its_namespace_name_it(kind: str) -> None:
    wanted: list[Want] = []
    there = world([], wanted)
    spy = spying(there, f"{kind.lower()}/shop/d*")
    wanted.clear()

    seen(there, kind, "db", 10)
    assert (len(there.sources), wanted) == (0, [])
    seen(there, kind, "db", 11, allow_from="others, oth*")
    assert there.sources.users(Key(kind, "shop", "db")) == {spy}

    seen(there, kind, "db", 12)
    assert len(there.sources) == 0


def test_a_glob_finds_what_its_own_namespace_has_and_no_stranger_is_linked_to_it() -> None:
    there = world([], [])
    spy = spying(there, "configmap/shop/*")
    there.sources.link(WEB, set(), {APP: Reference(APP)})

    seen(there, "ConfigMap", "app", 10)
    assert there.sources.users(APP) == {WEB}
    seen(there, "ConfigMap", "app", 11, allow_from="other")
    assert there.sources.users(APP) == {WEB, spy}
    seen(there, "ConfigMap", "app", 12)
    there.sources.link(WEB, {APP}, {})
    assert APP not in there.sources


def test_a_crowded_workload_stays_crowded_while_more_is_left_than_it_may_have() -> None:
    there = world([], [])
    spy = spying(there, "configmap/shop/*")
    most = limits.SOURCES.number
    for number in range(most + 2):
        seen(there, "ConfigMap", f"app-{number}", 10, allow_from="other")
    tracked = there.workloads[spy]
    assert tracked.is_crowded

    seen(there, "ConfigMap", "app-0", 11)
    assert tracked.is_crowded
    assert APP._replace(name="app-0") not in {ref.source for ref in tracked.references}

    seen(there, "ConfigMap", "app-1", 12)
    assert not tracked.is_crowded
    assert len(tracked.references) == most


@pytest.mark.parametrize("kind", ["ConfigMap", "Secret"])
def test_changes_of_what_does_not_consent_are_not_felt(kind: str) -> None:
    woken, wanted = list[Key](), list[Want]()
    there = world(woken, wanted)
    spy = spying(there, f"{kind.lower()}/shop/app")
    seen(there, kind, "app", 10)
    woken.clear()
    wanted.clear()

    for version in (11, 12):
        seen(there, kind, "app", version, value=str(version))
    there.sources.gone(Key(kind, "shop", "app"), 13)
    seen(there, kind, "app", 14)
    assert (woken, wanted) == ([], [])
    assert there.workloads[spy].quiet_since is None

    seen(there, kind, "app", 15, allow_from="other")
    asked = SourceContent(Key(kind, "shop", "app"), asker="other")
    assert wanted == [asked] if kind == "Secret" else woken


def test_a_stranger_that_came_first_does_not_hide_a_source_from_its_own_namespace() -> None:
    """Otherwise naming the Secrets of others would keep their workloads from rolling."""
    wanted: list[Want] = []
    there = world([], wanted)
    spying(there, "secret/shop/db")
    there.sources.opens(DB, None)
    assert there.sources.content(DB) is Absence.MISSING
    wanted.clear()

    there.sources.link(WEB, set(), {DB: Reference(DB)})
    assert wanted == [SourceContent(DB)]
    assert share(wanted[0]) == "shop"


def test_a_source_is_read_at_the_expense_of_who_names_it() -> None:
    """Otherwise names of another namespace would keep what that one has from being read."""
    wanted: list[Want] = []
    there = world([], wanted)
    spying(there, "secret/shop/db, secret/shop/no-such")
    assert [share(want) for want in wanted if isinstance(want, SourceContent)] == ["other"] * 2

    wanted.clear()
    there.sources.link(WEB, set(), {DB: Reference(DB)})
    assert wanted == [SourceContent(DB)], "who has it does not wait behind them"


@pytest.mark.parametrize(
    ("user", "consent"), [(SPY, "allow-from"), (READER, "injection-readers")], ids=str
)
def test_to_be_named_and_to_be_read_are_two_consents(user: Key, consent: str) -> None:
    there = world([], [])
    there.sources.link(user, set(), {DB: Reference(DB)})

    for name in ("allow-from", "injection-readers", "injection-writers"):
        opens = there.sources.opens(DB, {f"reroll.dev/{name}": "other"})
        assert opens is (name == consent)
