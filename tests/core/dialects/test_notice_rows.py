"""Rows `notices:` of a config file: what they hold, whom they are for, what is told of bad ones."""

from datetime import timedelta
from typing import Any

import pytest

from reroll.core.dialects.notice_rows import MOST, notices, routed
from reroll.core.dialects.reroll import policy
from reroll.core.model.key import Key
from reroll.core.policy.notice import Notice
from reroll.core.policy.policy import Policy
from reroll.core.policy.receivers import RECEIVERS
from reroll.core.tables.news import PROBLEMS, News, is_passing, problem_of
from reroll.core.tables.reasons import Reason

WEB = Key("Deployment", "shop", "web")
SLACK = {"slack": {"webhook-file": "/etc/reroll/slack"}}
GOOD: dict[str, dict[str, Any]] = {
    "slack": {"token-file": "/t", "channel": "C01"},
    "teams": {"webhook-file": "/t"},
    "googlechat": {"webhook-file": "/t"},
    "webhook": {"url": "https://example.com/hook", "template": {"text": "${title}"}},
    "cloudevents": {"url": "https://example.com/", "mode": "binary"},
    "alertmanager": {"url": "http://alertmanager.monitoring:9093", "labels": {"team": "a"}},
    "email": {"host": "mail", "sender": "reroll@example.com", "recipients": ["ops@example.com"]},
}


def rows(*given: Any) -> tuple[Notice, ...]:
    found, problems = notices(list(given))
    assert problems == []
    return found


def test_a_row_is_about_what_needs_somebody_unless_it_says_otherwise() -> None:
    [usual, everything, some] = rows(
        {"name": "a", "to": SLACK},
        {"name": "b", "to": SLACK, "about": ["all"]},
        {"name": "c", "to": SLACK, "about": ["failed", "rolled"], "gather": "30s"},
    )
    assert usual.about == frozenset(PROBLEMS)
    assert News.ROLLED not in usual.about
    assert everything.about == frozenset(News)
    assert some.about == {News.FAILED, News.ROLLED}
    assert some.gather == timedelta(seconds=30)


@pytest.mark.parametrize("receiver", RECEIVERS)
def test_every_receiver_can_be_configured(receiver: str) -> None:
    [row] = rows({"name": "a", "to": {receiver: GOOD[receiver]}})
    assert isinstance(row.to, RECEIVERS[receiver])


@pytest.mark.parametrize(
    ("to", "told"),
    [
        ({"slak": {}}, "did you mean 'slack'"),
        ({}, "names 0 receivers"),
        ({"slack": {}}, "either webhook-file or token-file"),
        ({"slack": {"token-file": "/t"}}, "channel is missing"),
        ({"slack": {"webhook-file": "t"}}, "no absolute path"),
        ({"slack": {"webhook": "https://hooks.example.com/s3cr3t"}}, "no field 'webhook'"),
        ({"teams": {}}, "webhook-file is missing"),
        ({"webhook": {"url": "file:///etc/passwd"}}, "no http:// or https:// URL"),
        ({"webhook": {"url": "https://u:p@example.com"}}, "without a user"),
        ({"webhook": {"url": "https://a/", "template": "${password}"}}, "no ${password}"),
        ({"email": {**GOOD["email"], "recipients": []}}, "there is none"),
        ({"email": {**GOOD["email"], "sender": "a b"}}, "no mail address"),
        ({"email": {**GOOD["email"], "user": "u"}}, "both user and password-file"),
        (
            {"email": {**GOOD["email"], "user": "u", "password-file": "/p", "tls": "none"}},
            "not sent without TLS",
        ),
        ({"cloudevents": {"url": "https://a/", "mode": "batch"}}, "mode"),
        ({"alertmanager": {"url": "http://a", "labels": {"my-team": "a"}}}, "'my-team' is no name"),
    ],
)
def test_what_is_wrong_with_a_receiver_is_told(to: dict[str, Any], told: str) -> None:
    _, problems = notices([{"name": "a", "to": to}])
    assert any(told in one and one.startswith("notices[0]") for one in problems), problems
    assert "s3cr3t" not in "".join(problems)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"name": "Team A"}, "small letters"),
        ({"about": ["stoppedd"]}, "no news 'stoppedd'"),
        ({"where": {"workloads": "a=b=c"}}, "not a label selector"),
        ({"where": {"cluster": "x"}}, "no field 'cluster'"),
        ({"gather": "soon"}, "not a duration"),
        ({"link": "javascript:alert(1)"}, "no http://"),
    ],
)
def test_what_is_wrong_with_a_row_is_told(more: dict[str, Any], told: str) -> None:
    _, problems = notices([{"name": "a", "to": SLACK, **more}])
    assert [one for one in problems if told in one], problems


def test_rows_are_bounded_and_have_names_of_their_own() -> None:
    _, problems = notices([{"name": "a", "to": SLACK}] * (MOST + 1))
    assert any(f"{MOST} is the most" in one for one in problems)
    assert any("two rows are called 'a'" in one for one in problems)
    assert notices("x") == ((), ["notices: is not a list; begin each row with a dash"])


# Whose news they get


def routes(
    annotations: dict[str, str],
    *given: Any,
    namespace: str = "shop",
    above: dict[str, str] | None = None,
) -> Policy:
    """`above`: the annotations of its Namespace."""
    configured = rows(*given)
    key = Key("Deployment", namespace, "web")
    may = tuple(row.name for row in configured if row.is_for(key, {"tier": "front"}))
    own = {"reroll.dev/enabled": "true", **annotations}
    found = policy(own, above or {}, Policy(notices=may), key)
    return routed(found, key, configured)


ALL = {"name": "all", "to": SLACK}
SHOP = {"name": "shop", "to": SLACK, "where": {"namespaces": ["sh*"], "workloads": "tier=front"}}
TEAM = {"name": "team", "to": SLACK, "where": {"named": True}}


def test_a_row_gets_news_of_those_it_is_for() -> None:
    assert routes({}, ALL, SHOP, TEAM).notices == ("all", "shop")
    assert routes({}, ALL, SHOP, TEAM, namespace="other").notices == ("all",)


def test_an_annotation_chooses_among_the_rows_that_have_to_be_named() -> None:
    annotation = {"reroll.dev/notice": "team"}
    for found in (
        routes(annotation, ALL, SHOP, TEAM),
        routes({}, ALL, SHOP, TEAM, above=annotation),
    ):
        assert found.notices == ("all", "shop", "team")
        assert found.problems == ()
    assert "team" not in routes({"reroll.dev/notice": ""}, ALL, TEAM, above=annotation).notices


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("teem", "did you mean 'team'"),
        ("shop", "is not for it"),
        ("https://hooks.example.com/x", "name rows of `notices:`, e.g. team-shop, never a URL"),
        ("hooks.example.com:443", "never a URL"),
        ("x" * 41, "never a URL"),
        (", ".join("abcdefghijkl"), "at most ten names"),
    ],
)
def test_a_name_that_leads_nowhere_is_a_problem(text: str, told: str) -> None:
    annotation = {"reroll.dev/notice": text}
    for found in (
        routes(annotation, ALL, SHOP, TEAM, namespace="other"),
        routes({}, ALL, SHOP, TEAM, namespace="other", above=annotation),
    ):
        assert [one for one in found.problems if told in one.sentence], found.problems
        assert found.notices == ("all",)


@pytest.mark.parametrize("scheme", ["https://me:s3cr3t@", "https://", ""])
@pytest.mark.parametrize("name", ["notice", "gates", "canary", "approval"])
def test_of_an_address_in_an_annotation_no_more_is_told_than_its_host(
    name: str, scheme: str
) -> None:
    address = f"{scheme}hooks.example.com/s3cr3t?key=s3cr3t"
    [problem] = routes({f"reroll.dev/{name}": f"team, {address}"}, TEAM).problems
    shown = "https://" if scheme else ""
    assert f"'team, {shown}hooks.example.com/…'" in problem.sentence
    assert "s3cr3t" not in problem.sentence


def test_names_are_a_problem_where_nothing_is_configured() -> None:
    [problem] = routes({"reroll.dev/notice": "team"}).problems
    assert "no notice is configured" in problem.sentence


# News


def test_what_waits_for_its_turn_is_neither_a_problem_nor_the_end_of_one() -> None:
    passing = [one for one in Reason if problem_of(one) is None and is_passing(one)]
    for reason in (Reason.DEBOUNCING, Reason.CROWDED, Reason.AFTER_OTHERS, Reason.SOAKING):
        assert reason in passing
    for reason in (Reason.UP_TO_DATE, Reason.HEALTHY, Reason.COMPLETE, Reason.OPTED_OUT):
        assert reason not in passing
        assert problem_of(reason) is None
    assert problem_of(Reason.SOURCE_MISSING) is problem_of(Reason.HELD) is News.HELD
