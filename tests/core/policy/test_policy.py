"""Annotations to policy: who wins, and what becomes of bad values."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.build import HOME, configmap, reference, secret

from reroll.core.dialects.annotations import ANNOTATIONS, SOURCE_LISTS
from reroll.core.dialects.reroll import ignores, namespaces_in, policy
from reroll.core.dialects.table import Dialects
from reroll.core.model.approval import Approval
from reroll.core.model.canary import CanaryPolicy
from reroll.core.model.gates import NO_NAMES
from reroll.core.model.key import Key
from reroll.core.model.pace import OnFailure, Pace, Parallel, Rolls
from reroll.core.model.reference import Reference
from reroll.core.model.timing import ANY_TIME
from reroll.core.model.windows import Windows
from reroll.core.policy.patterns import Pattern
from reroll.core.policy.policy import Hold, Policy, Reload, for_kind, usual, without_ignored
from reroll.core.policy.vocabulary import Vocabulary
from reroll.core.tables.annotations import DOMAIN
from reroll.core.tables.kinds import KINDS, Kind, Strategy

WEB = Key("Deployment", HOME, "web")
DEFAULT = Policy()
NINE = datetime(2026, 11, 16, 9, tzinfo=UTC)


def read(
    workload: dict[str, str], namespace: dict[str, str] | None = None, default: Policy = DEFAULT
) -> Policy:
    """The policy of annotations that are written without their domain."""
    own, shared = ({DOMAIN + k: v for k, v in each.items()} for each in (workload, namespace or {}))
    return policy(own, shared, default, WEB)


GOOD: dict[str, tuple[str, str, dict[str, Any]]] = {
    "opting in": ("enabled", "true", {"enabled": True}),
    "opting out": ("enabled", "false", {"enabled": False}),
    "in any case": ("enabled", " True ", {"enabled": True}),
    "live mounts": ("mounts", "live", {"mounts_are_live": True}),
    "frozen mounts": ("mounts", "frozen", {"mounts_are_live": False}),
    "a strategy": ("strategy", "evict", {"strategy": Strategy.EVICT}),
    "a quiet time": ("debounce", "5s", {"debounce": timedelta(seconds=5)}),
    "no quiet time": ("debounce", "0", {"debounce": timedelta()}),
    "a port": ("reload-port", "9090", {"reload": Reload(port=9090)}),
    "the last port": ("reload-port", "65535", {"reload": Reload(port=65535)}),
    "a day of quiet": ("debounce", "24h", {"debounce": timedelta(days=1)}),
    "a second time": ("reload-again", "2m", {"reload": Reload(again=timedelta(minutes=2))}),
    "a path": ("reload-path", "/x?y=1", {"reload": Reload(path="/x?y=1")}),
    "sources": ("sources", "cm/a, secret/b", {
        "sources": (Pattern("ConfigMap", None, "a"), Pattern("Secret", None, "b")),
    }),
    "sources to ignore": ("ignore", "secret/b#k", {"ignore": (Pattern("Secret", None, "b", "k"),)}),
    "an empty list": ("sources", "", {"sources": ()}),
    "revisions": ("revisions", "true", {"revisions": True}),
    "pins by name": ("pin", "template", {"pin": "template"}),
    "a hold": ("hold", "true", {"hold": Hold()}),
    "no hold": ("hold", "false", {"hold": None}),
    "a hold with a reason": ("hold", " incident 42 ", {"hold": Hold(why="incident 42")}),
    "a hold until a time": ("hold", "until 2026-11-16T10:00:00+01:00", {"hold": Hold(NINE)}),
    "a hold until then, and why": ("hold", "until 2026-11-16T09Z: x", {"hold": Hold(NINE, "x")}),
    "a hold until no time": ("hold", "until tomorrow", {"hold": Hold(why="until tomorrow")}),
    "a wave": ("wave", "-2", {"pace": Pace(wave=-2)}),
    "some at once": ("max-parallel", "10%", {"pace": Pace(max_parallel=Parallel(percent=10))}),
    "a soak": ("soak", "2m", {"pace": Pace(soak=timedelta(minutes=2))}),
    "a deadline": ("deadline", "10m", {"pace": Pace(deadline=timedelta(minutes=10))}),
    "going back": ("on-failure", "rollback", {"pace": Pace(on_failure=OnFailure.ROLLBACK)}),
    "a group": ("exclusive", "databases", {"pace": Pace(exclusive="databases")}),
    "a cooldown": ("cooldown", "1h", {"pace": Pace(cooldown=timedelta(hours=1))}),
    "gates": ("gates", "errors, alerts", {"pace": Pace(gates=("errors", "alerts"))}),
    "notices": ("notice", "team-a, ops", {"notice": ("team-a", "ops")}),
    "some rolls": ("max-rolls", "5/1h", {"pace": Pace(max_rolls=Rolls(5, timedelta(hours=1)))}),
    "a canary": ("canary", "2", {"canary": CanaryPolicy(Parallel(2))}),
    "a share": ("canary", "10%", {"canary": CanaryPolicy(Parallel(percent=10))}),
    "no canary": ("canary", "none", {"canary": CanaryPolicy()}),
    "a person decides": ("canary-pause", "manual", {"canary": CanaryPolicy(manual=True)}),
    "an approval": ("approval", "required", {"approval": Approval(required=True)}),
    "no approval": ("approval", "none", {"approval": Approval()}),
    "a time-out": ("approval-timeout", "7d", {"approval": Approval(timeout=timedelta(days=7))}),
    "a window": ("window", "nights", {"window": Windows(names=("nights",))}),
    "no window": ("window", "always", {"window": Windows()}),
    "before it expires": ("urgent-before-expiry", "48h", {"before_expiry": timedelta(days=2)}),
    "whenever it would expire": ("urgent-before-expiry", "true", {"before_expiry": ANY_TIME}),
}  # fmt: skip


@pytest.mark.parametrize(("name", "text", "fields"), GOOD.values(), ids=GOOD)
def test_an_annotation_is_read(name: str, text: str, fields: dict[str, Any]) -> None:
    assert read({name: text}) == msgspec.structs.replace(DEFAULT, **fields)


def test_every_annotation_has_a_good_example_here_and_in_its_own_row() -> None:
    rows = {row.name: row for row in ANNOTATIONS}

    assert rows.keys() | SOURCE_LISTS.keys() == {name for name, _, _ in GOOD.values()}
    for row in rows.values():
        assert read({row.name: row.example.strip('"')}).problems == ()
        assert row.key == f"reroll.dev/{row.name}"


BAD = {
    ("enabled", "yes"): 'is neither "true" nor "false"',
    ("enabled", ""): 'is neither "true" nor "false"',
    ("mounts", "Live"): 'is neither "frozen" nor "live"',
    ("strategy", "explode"): (
        "is not a strategy; use one of stamp, env, restart, evict, reload, trigger, recreate, "
        "notify, next-run"
    ),
    ("debounce", "5 apples"): 'is not a duration of at most a day; write e.g. "1s" or "500ms"',
    ("debounce", "25h"): 'is not a duration of at most a day; write e.g. "1s" or "500ms"',
    ("revisions", "yes"): 'is neither "true" nor "false"',
    ("pin", "webhook"): "is not one of auto, admission, template",
    ("urgent-before-expiry", "soon"): 'is neither "true", "false" nor a time like "48h"',
    ("wave", "first"): 'is not a whole number; write e.g. "1"',
    ("max-parallel", "some"): (
        'is not one of "all", "one", "doubling", a number, or a percentage like "10%"'
    ),
    ("soak", "long"): 'is not a duration of at most a day; write e.g. "1s" or "500ms"',
    ("deadline", "2d"): 'is not a duration of at most a day; write e.g. "1s" or "500ms"',
    ("deadline", "0"): 'is no time at all; write e.g. "10m"',
    ("on-failure", "panic"): "is not one of hold, rollback, continue",
    ("canary", "0"): 'is neither a number of pods, a percentage like "10%", nor "none"',
    ("canary", "200%"): 'is neither a number of pods, a percentage like "10%", nor "none"',
    ("canary-pause", "yes"): 'is neither "manual" nor "none"',
    ("approval", "please"): 'is neither "required" nor "none"',
    ("approval-timeout", "0"): 'is not a duration of at most 30 days; write e.g. "4h"',
    ("exclusive", "a b"): "is not the name of a group: letters, digits, `-`, `_` and `.`",
    ("cooldown", "1"): 'is not a duration of at most a day; write e.g. "1s" or "500ms"',
    ("gates", "https://x/"): "names an address; write names of gates of the config file",
    ("gates", "Two Words"): (
        'is not a list of names of gates; write e.g. "errors, shop-alerts"'
    ),
    ("max-rolls", "20"): (
        'is not a number of rolls in a time; write e.g. "20/1h", or "0/1h" for any'
    ),
    ("reload-port", "0"): "is not a port number between 1 and 65535",
    ("reload-port", "65536"): "is not a port number between 1 and 65535",
    ("reload-port", "http"): "is not a port number between 1 and 65535",
    ("reload-port", "9" * 5000): "is not a port number between 1 and 65535",
    ("reload-path", "reload"): 'is not an absolute URL path; write e.g. "/-/reload"',
    ("reload-path", "/caf\u00e9"): 'is not an absolute URL path; write e.g. "/-/reload"',
    ("reload-path", "/a\x07"): 'is not an absolute URL path; write e.g. "/-/reload"',
    ("reload-path", "/a b"): 'is not an absolute URL path; write e.g. "/-/reload"',
    ("reload-path", "/\r\nHost: x"): 'is not an absolute URL path; write e.g. "/-/reload"',
}  # fmt: skip


@pytest.mark.parametrize(("bad", "why"), BAD.items(), ids=[f"{n}: {t[:9]!r}" for n, t in BAD])
def test_a_bad_value_is_a_sentence_with_what_where_and_what_to_do(
    bad: tuple[str, str], why: str
) -> None:
    name, text = bad

    on_workload = read({name: text})
    on_namespace = read({}, {name: text})

    def expected(place: str) -> str:
        return f"annotation reroll.dev/{name} on {place}: {text[:80]!r} {why}"

    assert [p.sentence for p in on_workload.problems] == [expected("Deployment shop/web")]
    assert [p.sentence for p in on_namespace.problems] == [expected("Namespace shop")]


def test_who_asks_to_be_careful_in_words_that_nobody_knows_does_not_roll_at_once() -> None:
    found = read({"approval": "please", "gates": "https://x/", "window": "Mon 25:00"})

    assert (found.approval.required, found.pace.gates) == (True, (NO_NAMES,))
    assert found.window.problem


def test_a_bad_value_leaves_the_rest_of_the_policy_as_it_is() -> None:
    found = read({"enabled": "true", "debounce": "x", "sources": "cm/a, nonsense"})

    assert (found.enabled, found.debounce) == (True, DEFAULT.debounce)
    assert found.sources == (Pattern("ConfigMap", None, "a"),)
    assert len(found.problems) == 2


# The workload, then its Namespace, then the settings

SETTINGS = Policy(enabled=True, debounce=timedelta(seconds=9), reload=Reload(port=1, scheme="x"))


def test_the_workload_goes_before_its_namespace_and_that_before_the_settings() -> None:
    found = read(
        {"strategy": "evict", "reload-port": "3"},
        {"strategy": "env", "mounts": "live", "reload-port": "2", "reload-path": "/ns"},
        SETTINGS,
    )

    assert found == msgspec.structs.replace(
        SETTINGS,
        strategy=Strategy.EVICT,
        mounts_are_live=True,
        reload=Reload(port=3, path="/ns", scheme="x"),
    )


def test_each_key_of_a_pace_has_its_own_precedence() -> None:
    found = read(
        {"wave": "3"},
        {"wave": "2", "soak": "1m"},
        Policy(pace=Pace(wave=1, soak=timedelta(seconds=5), exclusive="db")),
    )

    assert found.pace == Pace(wave=3, soak=timedelta(minutes=1), exclusive="db")


def test_without_annotations_it_is_the_default_itself() -> None:
    assert read({}, {}, SETTINGS) is SETTINGS
    assert read({"state": "{}"}, {}, SETTINGS) is SETTINGS


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("enable", "did you mean reroll.dev/enabled?"),
        ("stratgy", "did you mean reroll.dev/strategy?"),
        ("source", "did you mean reroll.dev/sources?"),
        ("turnip", "see the reference of annotations"),
    ],
)
def test_a_key_of_ours_that_means_nothing_is_a_problem_with_a_suggestion(
    key: str, hint: str
) -> None:
    [on_workload] = read({key: "true"}, {}, SETTINGS).problems
    [on_namespace] = read({}, {key: "true"}, SETTINGS).problems

    assert on_workload.sentence.startswith(f"annotation reroll.dev/{key} on ")
    assert on_workload.sentence.endswith(f" means nothing; {hint}")
    assert "Namespace" in on_namespace.sentence
    assert Dialects().may_be_in({f"reroll.dev/{key}": "true"}, {}, msgspec.Raw(b"{}")) is True


@pytest.mark.parametrize(
    ("workload", "namespace", "default", "enabled"),
    [
        pytest.param(None, None, None, None, id="nobody said anything"),
        pytest.param("true", None, None, True, id="the workload opts in"),
        pytest.param(None, "true", None, True, id="the Namespace opts in"),
        pytest.param(None, None, True, True, id="the settings opt everything in"),
        pytest.param("false", "true", True, False, id="the workload opts out of all that"),
        pytest.param(None, "false", True, False, id="the Namespace opts out of the settings"),
        pytest.param("true", "false", None, True, id="the workload opts in again"),
        pytest.param("maybe", None, None, None, id="a bad value opts nothing in"),
        pytest.param("maybe", "false", True, False, id="a bad value leaves the Namespace's word"),
    ],
)
def test_who_is_in(
    workload: str | None, namespace: str | None, default: bool | None, enabled: bool | None
) -> None:
    own, shared = ({} if text is None else {"enabled": text} for text in (workload, namespace))

    assert read(own, shared, Policy(enabled=default)).enabled is enabled


def test_a_list_of_the_workload_replaces_that_of_its_namespace() -> None:
    found = read({"ignore": ""}, {"ignore": "secret/a", "sources": "cm/b"})

    assert (found.ignore, found.sources) == ((), (Pattern("ConfigMap", None, "b"),))


names = st.sampled_from([row.name for row in ANNOTATIONS] + list(SOURCE_LISTS))
annotations = st.dictionaries(names, st.text(), max_size=8)


@given(annotations, annotations)
def test_arbitrary_annotations_never_raise(own: dict[str, str], shared: dict[str, str]) -> None:
    found = read(own, shared)

    assert all(p.sentence.startswith("annotation reroll.dev/") for p in found.problems)
    for kind in KINDS:
        assert for_kind(found, kind, WEB).strategy_for(kind) in kind.strategies


# What a kind cannot do


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("strategy", Strategy)
def test_a_kind_does_what_it_can_and_its_default_instead_of_what_it_cannot(
    kind: Kind, strategy: Strategy
) -> None:
    where = Key(kind.name, HOME, "web")

    found = for_kind(Policy(strategy=strategy), kind, where)

    if strategy in kind.strategies:
        assert (found.strategy_for(kind), found.problems) == (strategy, ())
        return
    (problem,) = found.problems
    assert found.strategy_for(kind) is kind.default_strategy
    assert problem.sentence == (
        f"annotation reroll.dev/strategy for {where}: a {kind.name} cannot do '{strategy}'; "
        f"it does '{kind.default_strategy}' instead; use one of {', '.join(kind.strategies)}"
    )


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("strategy", [None, *Strategy])
def test_a_strategy_for_all_is_not_meant_for_a_kind_that_cannot_do_it(
    kind: Kind, strategy: Strategy | None
) -> None:
    found = usual(Policy(strategy=strategy), kind)

    assert found == Policy(strategy=strategy if strategy in kind.strategies else None)


# What is ignored

ALL, KEYS = reference(configmap("app")), reference(secret("db"), "user", "password")
IGNORED: dict[str, tuple[str, list[Reference]]] = {
    "a whole source": ("configmap/app", [KEYS]),
    "a glob of sources": ("secret/d*", [ALL]),
    "a source of that name elsewhere": ("configmap/other/app", [ALL, KEYS]),
    "a key of all": (
        "configmap/app#a", [msgspec.structs.replace(ALL, without=frozenset("a")), KEYS],
    ),
    "a key of some": (
        "secret/db#password",
        [ALL, msgspec.structs.replace(KEYS, without=frozenset(("password",)))],
    ),
    "a key and the whole": ("secret/db#password, secret/db", [ALL]),
}  # fmt: skip


@pytest.mark.parametrize(("text", "left"), IGNORED.values(), ids=IGNORED)
def test_what_is_ignored_is_left_out(text: str, left: list[Reference]) -> None:
    assert without_ignored((ALL, KEYS), read({"ignore": text}), HOME) == tuple(left)


@pytest.mark.parametrize(
    ("text", "allowed"), [("", set()), ("a", {"a"}), (" a, b ,,", {"a", "b"}), ("*", {"*"})]
)
def test_a_source_lists_the_namespaces_that_may_refer_to_it(text: str, allowed: set[str]) -> None:
    assert namespaces_in({DOMAIN + "allow-from": text}, DOMAIN + "allow-from") == allowed
    assert namespaces_in({}, DOMAIN + "allow-from") == frozenset()


@pytest.mark.parametrize(("text", "expected"), [(None, False), ("true", True), (" False ", False)])
def test_a_source_may_ask_to_roll_nobody(text: str | None, expected: bool) -> None:
    assert ignores({} if text is None else {DOMAIN + "ignore": text}) is expected


def test_a_source_that_asks_in_other_words_is_told_so() -> None:
    with pytest.raises(ValueError, match='is neither "true" nor "false"'):
        ignores({DOMAIN + "ignore": "configmap/app"})


def test_only_our_own_annotations_are_kept() -> None:
    mixed = {"reroll.dev/enabled": "true", "reroll.devx/enabled": "x", "a": "b"}

    assert Vocabulary().relevant(mixed) == {"reroll.dev/enabled": "true"}
