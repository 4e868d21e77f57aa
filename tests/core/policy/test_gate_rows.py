"""Rows `gates:` of a config file: what they mean, and what is said of bad ones."""

from datetime import timedelta
from typing import Any

import pytest

from reroll.core.model.gates import Alerts, Analysis, Gate, Matcher, NoData, Query, Server, Webhook
from reroll.core.policy.gate_rows import gates, parse_matchers
from reroll.core.policy.gates import parse_names
from reroll.core.tables.limits import GATES

URL = "http://prometheus.monitoring:9090"
PROMETHEUS = {"url": URL}


def one(**row: Any) -> Gate:
    [found], problems = gates([{name.replace("_", "-"): value for name, value in row.items()}])
    assert problems == []
    return found


def test_alerts_of_a_prometheus() -> None:
    found = one(name="calm", prometheus=PROMETHEUS, alerts='severity="critical"')
    assert found.question == Alerts(Server(URL), (Matcher("severity", "=", "critical"),))
    assert (found.every, found.failures) == (timedelta(seconds=30), 1)
    assert (found.per_namespace, found.per_workload) == (False, False)


def test_alerts_of_an_alertmanager() -> None:
    found = one(name="calm", alertmanager=PROMETHEUS, alerts='{namespace="$namespace"}')
    assert found.question == Alerts(
        Server(URL), (Matcher("namespace", "=", "$namespace"),), is_alertmanager=True
    )
    assert (found.per_namespace, found.per_workload) == (True, False)


def test_a_query() -> None:
    server = {"url": URL, "token-file": "/etc/token", "ca-file": "/etc/ca.crt"}
    found = one(
        name="errors", prometheus=server, query='a{b="$workload"} > 0', max=0.5, min=-1,
        every="1m", timeout="5s", failures=3, no_data="fail",
    )  # fmt: skip
    assert found.question == Query(
        Server(URL, "/etc/token", "/etc/ca.crt"), 'a{b="$workload"} > 0', -1, 0.5, NoData.FAIL
    )
    assert (found.every, found.timeout) == (timedelta(minutes=1), timedelta(seconds=5))
    assert (found.failures, found.per_workload) == (3, True)


def test_one_bad_sample_of_a_query_is_no_failure_unless_said() -> None:
    assert one(name="errors", prometheus=PROMETHEUS, query="a", max=1).failures == 2


def test_a_webhook_is_asked_for_each_workload() -> None:
    found = one(name="board", webhook={"url": "https://gate.example/x?y"}, metadata={"a": "b"})
    assert found.question == Webhook(Server("https://gate.example/x?y"), {"a": "b"})
    assert found.per_workload


@pytest.mark.parametrize("is_cluster", [False, True])
def test_an_analysis_is_made_for_each_workload_and_has_its_own_times(is_cluster: bool) -> None:
    field = "clusterAnalysisTemplate" if is_cluster else "analysisTemplate"
    found = one(name="success", args={"service": "$workload"}, **{field: "success-rate"})
    assert found.question == Analysis("success-rate", is_cluster, {"service": "$workload"})
    assert (found.every, found.timeout) == (timedelta(minutes=1), timedelta(minutes=10))
    assert (found.failures, found.per_workload) == (1, True)
    long = one(name="success", analysisTemplate="success-rate", timeout="24h")
    assert long.timeout == timedelta(hours=24)


BAD: dict[str, tuple[Any, str]] = {
    "no list": ({"name": "a"}, "gates: is not a list; begin each row with a dash"),
    "no row": (["a"], "gates[0]: is not a row; write e.g. `- name: errors`"),
    "no name": ([{"webhook": PROMETHEUS}], "gates[0]: name is missing"),
    "a field that is none": (
        [{"name": "a", "webhook": PROMETHEUS, "quary": ""}], "there is no field 'quary'",
    ),
    "a bad name": ([{"name": "A b", "webhook": PROMETHEUS}], "name: use small letters"),
    "no server": ([{"name": "a", "query": "x", "max": 1}], "give it one of prometheus"),
    "two servers": (
        [{"name": "a", "prometheus": PROMETHEUS, "webhook": PROMETHEUS}], "give it one of",
    ),
    "no question": ([{"name": "a", "prometheus": PROMETHEUS}], "give it alerts, or a query"),
    "two questions": (
        [{"name": "a", "prometheus": PROMETHEUS, "alerts": 'a="b"', "query": "x", "max": 1}],
        "has alerts and query; make two rows of it",
    ),
    "no bounds": (
        [{"name": "a", "prometheus": PROMETHEUS, "query": "x"}], "give it max, min or both",
    ),
    "bounds of nothing": (
        [{"name": "a", "prometheus": PROMETHEUS, "alerts": 'a="b"', "max": 1}],
        "max: is for a query",
    ),
    "bounds that cross": (
        [{"name": "a", "prometheus": PROMETHEUS, "query": "x", "max": 1, "min": 2}],
        "min: 2 is more than max, 1",
    ),
    "a bound that nothing is beyond": (
        [{"name": "a", "prometheus": PROMETHEUS, "query": "x", "max": float("nan")}],
        "max: is no number",
    ),
    "a query for an alertmanager": (
        [{"name": "a", "alertmanager": PROMETHEUS, "query": "x", "max": 1}],
        "an alertmanager knows no queries",
    ),
    "a matcher that is none": (
        [{"name": "a", "prometheus": PROMETHEUS, "alerts": "critical"}],
        "alerts: 'critical' is no list of matchers",
    ),
    "no URL": (
        [{"name": "a", "webhook": {"url": "gate"}}], "webhook: url: is no http:// or https:// URL",
    ),
    "a port that is none": (
        [{"name": "a", "webhook": {"url": "http://gate:99999/"}}], "is no http:// or https:// URL",
    ),
    "a line break in the URL": (
        [{"name": "a", "webhook": {"url": "http://gate/\nx"}}], "is no http:// or https:// URL",
    ),
    "a file that is nowhere": (
        [{"name": "a", "webhook": {"url": "http://gate", "token-file": "token"}}],
        "webhook: token-file: 'token' is no absolute path; begin it with a /",
    ),
    "a user in the URL": (
        [{"name": "a", "webhook": {"url": "http://me:secret@gate"}}], "has a user in it",
    ),
    "a query in the URL of a Prometheus": (
        [{"name": "a", "prometheus": {"url": "http://x?y=z"}, "alerts": 'a="b"'}],
        "has something after its path",
    ),
    "no time": (
        [{"name": "a", "webhook": PROMETHEUS, "every": "often"}],
        "every: 'often' is no time between 1s and 3600s",
    ),
    "a time that is too long": (
        [{"name": "a", "webhook": PROMETHEUS, "timeout": "2m"}], "timeout: '2m' is no time",
    ),
    "no number of failures": (
        [{"name": "a", "webhook": PROMETHEUS, "failures": 0}],
        "failures: is too small; write a whole number of at least 1",
    ),
    "two templates": (
        [{"name": "a", "analysisTemplate": "x", "clusterAnalysisTemplate": "y"}], "give it one of",
    ),
    "a template that is no name": (
        [{"name": "a", "analysisTemplate": "X/y"}], "analysisTemplate: 'X/y' is no name",
    ),
    "a query for a template": (
        [{"name": "a", "clusterAnalysisTemplate": "x", "query": "y", "max": 1}],
        "asked of a prometheus, not of an analysisTemplate",
    ),
    "args of nothing": (
        [{"name": "a", "webhook": PROMETHEUS, "args": {"x": "y"}}],
        "args: is for an analysisTemplate",
    ),
    "args that are too long": (
        [{"name": "a", "analysisTemplate": "x", "args": {"x": "y" * 4001}}], "args: is longer",
    ),
    "two of one name": (
        [{"name": "a", "webhook": PROMETHEUS}] * 2, "gates: two rows are called 'a'; rename one",
    ),
    "too many": (
        [{"name": f"a{n}", "webhook": PROMETHEUS} for n in range(GATES.number + 1)],
        "65 rows are more than 64",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("given", "sentence"), BAD.values(), ids=BAD)
def test_a_bad_row_is_told(given: Any, sentence: str) -> None:
    _, problems = gates(given)
    assert [problem for problem in problems if sentence in problem] != []
    assert "secret" not in "".join(problems)


def test_everything_that_is_wrong_is_told_at_once() -> None:
    _, problems = gates([{"name": "A"}, {"name": "b", "webhook": {"url": "x"}, "every": "x"}])
    assert len(problems) == 4


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('a="b"', ['a="b"']),
        ('{a="b"}', ['a="b"']),
        ('a = "b" , c!~"d|e",', ['a="b"', 'c!~"d|e"']),
        (r'a=~"x\\.y\"z"', [r'a=~"x\\.y\"z"']),
    ],
)
def test_matchers_are_read_as_people_write_them(text: str, found: list[str]) -> None:
    assert list(map(str, parse_matchers(text))) == found


@pytest.mark.parametrize(
    "text", ["", "{}", "a", 'a="b', 'a="b" c="d"', "a='b'", 'a<"b"', 'a="b"}}']
)
def test_what_is_no_matcher_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no list of matchers"):
        parse_matchers(text)


def test_names_are_counted_once_and_not_too_many() -> None:
    assert parse_names(" a, b,a ,") == ("a", "b")
    assert parse_names("") == ()
    with pytest.raises(ValueError, match="more than 64"):
        parse_names(",".join(f"a{n}" for n in range(65)))
