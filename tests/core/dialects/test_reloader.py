"""Reloader's annotations: which of them wins, for every row of its precedence; and bad values."""

# ruff: noqa: E501  the tables read best one row a line

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.build import DEPLOYMENT, HOME, KIND, decoded, document, env_from, template, workload

from reroll.core.dialects.reloader import DOMAIN, PAUSE_PERIOD, PAUSED_AT, RELOADER
from reroll.core.dialects.rows import Options, PolicyInput
from reroll.core.dialects.table import ALL, DIALECTS, Dialects
from reroll.core.model.content import Content
from reroll.core.model.key import Key
from reroll.core.policy.patterns import Pattern
from reroll.core.policy.policy import Pause, Policy
from reroll.core.policy.select import claimed
from reroll.core.tables.kinds import KINDS, Kind, Strategy
from reroll.core.tables.source_kinds import SOURCE_KINDS

WEB = Key("Deployment", HOME, "web")
AUTO, SEARCH = "reloader.stakater.com/auto", "reloader.stakater.com/search"
CM_AUTO, CM = "configmap.reloader.stakater.com/auto", "configmap.reloader.stakater.com/reload"
SECRET_AUTO, SECRET = "secret.reloader.stakater.com/auto", "secret.reloader.stakater.com/reload"
CM_BUT = "configmaps.exclude.reloader.stakater.com/reload"
SECRET_BUT = "secrets.exclude.reloader.stakater.com/reload"
MATCH, IGNORE = {DOMAIN + "match": "true"}, {DOMAIN + "ignore": "true"}
ON, OFF = {AUTO: "true"}, {AUTO: "false"}


def policy(
    own: Mapping[str, str],
    below: Mapping[str, str] | None = None,
    *,
    kind: Kind = DEPLOYMENT,
    everybody: bool = False,
    dialects: Dialects = ALL,
    **default: Any,
) -> Policy:
    settings = Policy(enabled=True if everybody else None, **default)
    return dialects.policy(PolicyInput(WEB, kind, own, below or {}, {}, settings))


class Case(NamedTuple):
    """Whether a source rolls a workload; the ConfigMap `app` that it refers to, unless said."""

    own: dict[str, str]
    rolls: bool
    below: Mapping[str, str] = MappingProxyType({})
    source: str = "app"
    on_source: Mapping[str, str] = MappingProxyType({})
    everybody: bool = False
    kind: str = "ConfigMap"


PRECEDENCE: dict[str, Case] = {
    "auto": Case(ON, True),
    "auto, as Go reads booleans": Case({AUTO: "1"}, True),
    "auto is off": Case(OFF, False),
    "nothing": Case({}, False),
    "auto needs a reference": Case(ON, False, source="other"),
    "auto of its kind": Case({CM_AUTO: "true"}, True),
    "auto of another kind": Case({SECRET_AUTO: "true"}, False),
    "auto of its kind, for a Secret": Case({SECRET_AUTO: "true"}, True, kind="Secret"),
    "auto of a class": Case(
        {"secretproviderclass.reloader.stakater.com/auto": "true"}, True,
        kind="SecretProviderClass",
    ),
    "a typed auto counts although auto is off": Case({**OFF, CM_AUTO: "true"}, True),
    "auto counts although a typed one is off": Case({**ON, CM_AUTO: "false"}, True),
    "a name, with a reference": Case({CM: "app"}, True),
    "a name, without one": Case({CM: "other"}, True, source="other"),
    "a name in a list": Case({CM: "a, other ,b"}, True, source="other"),
    "a name of another kind": Case({SECRET: "app"}, False),
    "an expression": Case({CM: "oth.*"}, True, source="other"),
    "an expression means whole names": Case({CM: "oth"}, False, source="other"),
    "each alternative means whole names": Case({CM: "foo|other"}, False, source="fooxyz"),
    "a name counts although auto is off": Case({**OFF, CM: "other"}, True, source="other"),
    "a name does not count for others": Case({CM: "other"}, False),
    "excluded beats auto": Case({**ON, CM_BUT: "x, app"}, False),
    "excluded beats named": Case({CM: "app", CM_BUT: "app"}, False),
    "excluded of another kind": Case({**ON, SECRET_BUT: "app"}, True),
    "excluded is below the template's": Case({CM_BUT: "app"}, False, below=ON),
    "excluded does not count on the template": Case(ON, True, below={CM_BUT: "app"}),
    "search finds what matches": Case({SEARCH: "true"}, True, on_source=MATCH),
    "search passes by what does not": Case({SEARCH: "true"}, False),
    "search needs a reference": Case({SEARCH: "true"}, False, source="other", on_source=MATCH),
    "search is exactly true": Case({SEARCH: "True"}, False, on_source=MATCH),
    "match is exactly true": Case({SEARCH: "true"}, False, on_source={DOMAIN + "match": "1"}),
    "match alone does nothing": Case({}, False, on_source=MATCH),
    "search or auto": Case({SEARCH: "true", **ON}, True),
    "ignored beats auto": Case(ON, False, on_source=IGNORE),
    "ignored beats named": Case({CM: "app"}, False, on_source=IGNORE),
    "ignored beats match": Case({SEARCH: "true"}, False, on_source={**MATCH, **IGNORE}),
    "ignore is exactly true": Case(ON, True, on_source={DOMAIN + "ignore": "True"}),
    "the template's, if the workload has none": Case({}, True, below=ON),
    "the workload's own, all or nothing": Case(OFF, False, below=ON),
    "own auto hides the template's names": Case(OFF, False, below={CM: "app"}),
    "own search hides the template's auto": Case({SEARCH: "x"}, False, below=ON),
    "for each kind apart": Case({SECRET: "db"}, True, below={CM_AUTO: "true"}),
    "everybody is in": Case({}, True, everybody=True),
    "everybody but who says no": Case(OFF, False, everybody=True),
    "everybody but for a kind": Case({CM_AUTO: "false"}, False, everybody=True),
    "everybody, for the other kind": Case({CM_AUTO: "no"}, True, everybody=True, kind="Secret"),
    "everybody, beside who names one": Case({CM: "other"}, True, everybody=True),
    "everybody, but not what is excluded": Case({CM_BUT: "app"}, False, everybody=True),
    "everybody, but not what is ignored": Case({}, False, everybody=True, on_source=IGNORE),
    "everybody, and an empty auto says nothing": Case({AUTO: ""}, True, everybody=True),
}  # fmt: skip

USES = template(
    envFrom=env_from(configmap="app", secret="app"),
    volumeMounts=[{"name": "csi", "mountPath": "/x"}],
)
USES["spec"]["volumes"] = [
    {
        "name": "csi",
        "csi": {
            "driver": "secrets-store.csi.k8s.io",
            "volumeAttributes": {"secretProviderClass": "app"},
        },
    }
]


@pytest.mark.parametrize("case", PRECEDENCE.values(), ids=PRECEDENCE)
@pytest.mark.parametrize("rows", [DIALECTS, (RELOADER,)], ids=["all dialects", "this one alone"])
def test_what_rolls_a_workload(case: Case, rows: Any) -> None:
    dialects = Dialects(rows)
    found = policy(case.own, case.below, everybody=case.everybody, dialects=dialects)
    source = Key(case.kind, HOME, case.source)
    content = Content({}, marks=dialects.source_marks(case.on_source))
    seen = workload(DEPLOYMENT, document(DEPLOYMENT, USES))

    refs = claimed(
        HOME, seen.uses, found, lambda p: [source] if p.matches(source, HOME) else []
    )  # fmt: skip

    counted = [ref for ref in refs if ref.source == source and ref.counted(content)]
    assert bool(counted) is case.rolls
    assert bool(found.enabled) or not case.rolls


def test_what_a_list_names_is_a_name_or_an_expression() -> None:
    (claim,) = policy({CM: "app-1, app.*,, a.b, app-1"}).claims

    assert claim.named == (
        Pattern("ConfigMap", None, "app-1"),
        Pattern("ConfigMap", None, "app.*", regex=True),
        Pattern("ConfigMap", None, "a.b", regex=True),
    )


# How it rolls


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_jobs_are_made_by_default_and_other_kinds_roll_as_they_do(kind: Kind) -> None:
    usual = {"CronJob": Strategy.TRIGGER, "Job": Strategy.RECREATE}

    assert policy(ON, kind=kind).strategy_for(kind) is usual.get(kind.name, Strategy.STAMP)
    assert policy({}, kind=kind, everybody=True).strategy is None


def test_what_the_workload_says_goes_before_the_settings_and_these_before_the_usual() -> None:
    cron, rollout = KIND["CronJob"], KIND["Rollout"]
    restart = {**ON, DOMAIN + "rollout-strategy": "restart"}
    ours = {"reroll.dev/strategy": "notify"}

    assert policy({**ON, **ours}, kind=cron).strategy is Strategy.NOTIFY
    assert policy(ON, kind=cron, strategy=Strategy.NOTIFY).strategy is Strategy.NOTIFY
    assert policy(ON, kind=cron, strategy=Strategy.EVICT).strategy is Strategy.TRIGGER
    assert policy(restart, kind=rollout).strategy is Strategy.RESTART
    assert policy({**restart, **ours}, kind=rollout).strategy is Strategy.NOTIFY
    assert policy(restart).strategy is None
    rolls = {**ON, DOMAIN + "rollout-strategy": "rollout"}
    assert policy(rolls, kind=rollout).strategy is None


AT = "2026-03-01T11:59:00Z"
SINCE = datetime(2026, 3, 1, 11, 59, tzinfo=UTC)
PAUSES: dict[str, tuple[dict[str, str], Pause | None]] = {
    "none": ({}, None),
    "a period": ({PAUSE_PERIOD: "5m"}, Pause(timedelta(minutes=5), PAUSED_AT)),
    "a period of nothing": ({PAUSE_PERIOD: "0"}, None),
    "a pause": (
        {PAUSE_PERIOD: "90s", PAUSED_AT: AT}, Pause(timedelta(seconds=90), PAUSED_AT, SINCE),
    ),
    "a pause that somebody left": ({PAUSED_AT: AT}, Pause(timedelta(), PAUSED_AT, SINCE)),
}  # fmt: skip


@pytest.mark.parametrize(("own", "pause"), PAUSES.values(), ids=PAUSES)
def test_a_pause_is_read(own: dict[str, str], pause: Pause | None) -> None:
    assert policy({**ON, **own}).pause == pause


def test_only_a_kind_that_can_be_paused_has_a_mark_of_it() -> None:
    found = policy({PAUSED_AT: AT, PAUSE_PERIOD: "5m", **ON}, kind=KIND["StatefulSet"])

    assert found.pause == Pause(timedelta(minutes=5), PAUSED_AT)


# Bad input

BAD: dict[str, tuple[dict[str, str], str, str]] = {
    "a boolean": ({AUTO: "yes"}, AUTO, """'yes' is neither "true" nor "false\""""),
    "a typed boolean": ({CM_AUTO: "on"}, CM_AUTO, """'on' is neither "true" nor "false\""""),
    "search": ({SEARCH: "True"}, SEARCH, """'True' is not exactly "true\""""),
    "an expression": (
        {CM: "app, (oops"}, CM, "'(oops' is no regular expression that can be used: missing ): (oops",
    ),
    "an excluded name": (
        {SECRET_BUT: "db-.*"}, SECRET_BUT, "'db-.*' is not a name; what is excluded is no pattern",
    ),
    "a duration": ({PAUSE_PERIOD: "soon"}, PAUSE_PERIOD, """'soon' is not a duration of at most a year; write e.g. "5m\""""),
    "a time": ({PAUSED_AT: "now"}, PAUSED_AT, "'now' is not a time; the Deployment is left paused"),
    "a strategy": (
        {DOMAIN + "rollout-strategy": "x"}, DOMAIN + "rollout-strategy",
        """'x' is neither "rollout" nor "restart\"""",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("own", "key", "why"), BAD.values(), ids=BAD)
def test_a_bad_value_is_told_and_the_rest_still_counts(
    own: dict[str, str], key: str, why: str
) -> None:
    kind = KIND["Rollout"] if "rollout" in key else DEPLOYMENT

    found = policy({CM_AUTO: "true", **own, SECRET_AUTO: "true"}, kind=kind)

    assert [p.sentence for p in found.problems] == [
        f"annotation {key} on Deployment shop/web: {why}"
    ]
    assert found.enabled
    assert "Secret" in found.claims[0].kinds


@given(st.dictionaries(st.sampled_from(sorted(ALL.words.annotations)), st.text(max_size=12)))
def test_no_text_breaks_the_reading(own: dict[str, str]) -> None:
    for kind in KINDS:
        policy(own, own, kind=kind)


# Several dialects


@pytest.mark.parametrize("name", ["restart-window", "sync-windows"])
def test_a_window_that_nobody_reads_is_told_with_what_to_write(name: str) -> None:
    said = {DOMAIN + name: '{"timezone":"UTC","windows":[{"cron":"0 0 * * *","duration":"1h"}]}'}
    for found in (policy(ON | said), policy(ON, said)):
        [problem] = found.problems
        assert problem.sentence == (
            f"annotation {DOMAIN}{name} on {WEB}: is not read, so it keeps nothing; write "
            'reroll.dev/window, e.g. "daily 02:00+1h Europe/Oslo"'
        )
        assert found.enabled


def test_a_workload_that_two_dialects_opt_in_is_in_by_both() -> None:
    assert policy({"reroll.dev/enabled": "true", **ON}).by == ("reroll", "reloader")
    assert policy(ON).by == ("reloader",)
    assert policy({}, everybody=True).by == ("reroll",)
    beside = policy({CM: "x"}, everybody=True)
    assert beside.by == ("reloader",)
    assert {claim.term.hashed for claim in beside.claims} == {True}


def test_our_own_no_counts_for_all_and_theirs_only_for_their_part() -> None:
    no = policy({"reroll.dev/enabled": "false", **ON})

    assert (no.enabled, no.claims) == (False, ())
    assert policy({"reroll.dev/enabled": "true", **OFF}).enabled
    assert policy(OFF).enabled is False


def test_a_dialect_that_is_not_in_use_says_nothing() -> None:
    without = Dialects([row for row in DIALECTS if row.name != "reloader"])

    assert policy(ON, dialects=without).enabled is None
    assert without.words.relevant(ON) == {}
    assert without.source_marks(IGNORE) == frozenset()


def test_kinds_of_sources_that_do_not_count_are_claimed_by_nobody() -> None:
    dialects = Dialects(options=Options(sources=frozenset(("ConfigMap",))))

    for own, everybody in ((ON, False), ({}, True), ({SECRET: "db", CM: "a"}, False)):
        for claim in policy(own, everybody=everybody, dialects=dialects).claims:
            assert claim.kinds <= {"ConfigMap"}
            assert {pattern.kind for pattern in claim.named} <= {"ConfigMap"}


RENAMED = {
    word.key: "example.com/" + word.key.replace("/", "-")
    for word in RELOADER.words(Options())
    if word.renamed
}


@pytest.mark.parametrize("case", PRECEDENCE.values(), ids=PRECEDENCE)
def test_annotations_may_go_by_other_names(case: Case) -> None:
    dialects = Dialects(options=Options(names=RENAMED))
    own, below, on_source = (
        {RENAMED.get(key, key): value for key, value in each.items()}
        for each in (case.own, case.below, case.on_source)
    )

    found = policy(own, below, everybody=case.everybody, dialects=dialects)
    same = policy(case.own, case.below, everybody=case.everybody)
    assert (found.claims, found.enabled) == (same.claims, same.enabled)
    assert dialects.source_marks(on_source) == ALL.source_marks(case.on_source)
    assert dialects.words.relevant(own) == own
    if case.own.keys() <= RENAMED.keys():
        assert policy(case.own, dialects=dialects).enabled is None


# The quick answer


def quick(own: dict[str, str], pods: dict[str, Any] | None = None) -> bool | None:
    raw = document(DEPLOYMENT, pods)
    return ALL.may_be_in(own, {}, decoded(raw).spec)


def test_whoever_has_no_word_of_any_dialect_is_not_looked_at_closer() -> None:
    assert quick({"app": "x", "reroll.dev/state": "{}"}) is None
    assert quick(ON) is True
    assert quick({CM: "x"}) is True
    assert quick({PAUSED_AT: "x"}) is True
    assert quick({}, template({AUTO: "true"})) is True
    assert quick({"reroll.dev/enabled": "false", **ON}) is False
    assert quick({"reroll.dev/enabled": "false", PAUSED_AT: "x"}) is True
    assert quick({"reroll.dev/enabled": "true"}) is True


def test_every_kind_of_source_has_its_own_words() -> None:
    keys = {word.key for word in RELOADER.words(Options())}

    for row in SOURCE_KINDS:
        for key in (
            f"{row.aliases[0]}.reloader.stakater.com/auto",
            f"{row.aliases[0]}.reloader.stakater.com/reload",
            f"{row.plural}.exclude.reloader.stakater.com/reload",
        ):
            assert key in keys
