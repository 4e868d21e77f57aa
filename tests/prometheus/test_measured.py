"""What gates make of a real Prometheus and a real Alertmanager."""

import asyncio
from typing import Any

import pytest
from tests.support.fixtures_prometheus import Monitoring

from reroll.core.model.gates import Answer, Gate, Measured
from reroll.core.model.key import Key
from reroll.core.policy.gate_rows import gates
from reroll.engine.gates import GateId
from reroll.features.gates.questions import measure
from reroll_dev import monitoring

WEB = GateId("g", "shop", Key("Deployment", "shop", "web"))
FIRING = {
    "alert": "Down",
    "expr": "vector(1)",
    "labels": {"severity": "critical", "namespace": "shop"},
}


def row(**fields: Any) -> Gate:
    [found], problems = gates([{"name": "g", "timeout": "5s", **fields}])
    assert problems == []
    return found


def ask(gate: Gate) -> Measured:
    return asyncio.run(measure(gate, WEB, {}))


def comes_to(gate: Gate, answer: Answer) -> Measured:
    """Wait for it: rules are evaluated once a second."""

    async def found() -> Measured:
        async with asyncio.timeout(60):
            while (measured := await measure(gate, WEB, {})).answer is not answer:
                await asyncio.sleep(0.1)
        return measured

    return asyncio.run(found())


def query(monitored: Monitoring, text: str, **bounds: Any) -> Measured:
    return ask(row(prometheus={"url": monitored.url}, query=text, **bounds))


@pytest.mark.parametrize(
    ("text", "bounds", "answer", "why"),
    [
        ("vector(0.5)", {"max": 1}, Answer.OPEN, "0.5"),
        ("0.5", {"max": 1, "min": 0}, Answer.OPEN, "0.5"),
        ("vector(2)", {"max": 1}, Answer.CLOSED, "2 is over 1"),
        ("vector(0)", {"min": 1}, Answer.CLOSED, "0 is under 1"),
        ("1 / vector(0)", {"max": 1}, Answer.CLOSED, "inf is over 1"),
        (
            'label_replace(vector(0), "a", "x", "", "") or vector(2)',
            {"max": 1}, Answer.CLOSED, "2 is over 1",
        ),
        ("no_such_metric", {"max": 1}, Answer.UNKNOWN, "there is no value"),
        ("no_such_metric", {"max": 1, "no-data": "pass"}, Answer.OPEN, "there is no value"),
        ("no_such_metric", {"max": 1, "no-data": "fail"}, Answer.CLOSED, "there is no value"),
        ("vector(0) / vector(0)", {"max": 1}, Answer.UNKNOWN, "a value is NaN"),
        ("vector(0) / vector(0)", {"max": 1, "no-data": "pass"}, Answer.OPEN, "a value is NaN"),
        ('"text"', {"max": 1}, Answer.UNKNOWN, "the query gives a string"),
        ("up[1m]", {"max": 1}, Answer.UNKNOWN, "the query gives a matrix"),
        ("sum(", {"max": 1}, Answer.UNKNOWN, "it answered 400: invalid parameter"),
    ],
)  # fmt: skip
def test_a_query(
    monitored: Monitoring, text: str, bounds: dict[str, Any], answer: Answer, why: str
) -> None:
    found = query(monitored, text, **bounds)
    assert found.answer is answer, found
    assert why in found.why


def test_a_query_names_the_namespace(monitored: Monitoring) -> None:
    text = 'label_replace(vector(1), "n", "$namespace", "", "") == on (n) group_left () '
    text += 'label_replace(vector(1), "n", "shop", "", "")'
    assert query(monitored, text, max=1).answer is Answer.OPEN


def alerts(url: str, server: str, matcher: str = 'severity="critical"') -> Gate:
    return row(**{server: {"url": url}, "alerts": matcher})


def test_an_alert_that_fires_closes_and_opens_again_when_it_ends(monitored: Monitoring) -> None:
    ours = 'alertname="Down", severity="critical", namespace="$namespace"'
    asked = alerts(monitored.url, "prometheus", ours)
    of_others = alerts(monitored.url, "prometheus", 'alertname="Down", namespace="other"')
    monitored.rules()
    comes_to(asked, Answer.OPEN)

    monitored.rules(FIRING)
    assert comes_to(asked, Answer.CLOSED) == Measured(Answer.CLOSED, "Down fires", True)
    assert ask(of_others).answer is Answer.OPEN

    monitored.rules(FIRING | {"expr": "vector(1) > 2"})
    comes_to(asked, Answer.OPEN)


def test_an_alert_that_is_only_pending_does_not_close(monitored: Monitoring) -> None:
    monitored.rules(FIRING | {"alert": "Soon", "for": "1h"})
    pending = 'ALERTS{alertname="Soon",alertstate="pending"}'
    gate = row(prometheus={"url": monitored.url}, query=pending, min=1)
    comes_to(gate, Answer.OPEN)
    only = alerts(monitored.url, "prometheus", 'alertname="Soon"')
    assert ask(only).answer is Answer.OPEN


def test_a_silenced_alert_closes_no_gate_of_an_alertmanager(monitored: Monitoring) -> None:
    loud = FIRING | {"alert": "Loud"}
    only = 'alertname="Loud"'
    monitored.rules(loud)
    comes_to(alerts(monitored.alerts_url, "alertmanager", only), Answer.CLOSED)
    other = alerts(monitored.alerts_url, "alertmanager", 'alertname="Loud", namespace!="shop"')
    assert ask(other).answer is Answer.OPEN

    monitored.silence("Loud")
    comes_to(alerts(monitored.alerts_url, "alertmanager", only), Answer.OPEN)
    assert ask(alerts(monitored.url, "prometheus", only)).answer is Answer.CLOSED


@pytest.mark.parametrize("server", [monitoring.PROMETHEUS, monitoring.ALERTMANAGER])
def test_one_that_is_stopped_is_unknown_until_it_is_back(
    monitored: Monitoring, server: str
) -> None:
    url = monitored.url if server == monitoring.PROMETHEUS else monitored.alerts_url
    gate = alerts(url, server, 'alertname="Nothing"')
    comes_to(gate, Answer.OPEN)
    monitored.stop(server)
    found = ask(gate)
    assert (found.answer, found.is_failure) == (Answer.UNKNOWN, False)
    assert found.why.endswith("refused")
    monitored.start()
    comes_to(gate, Answer.OPEN)


def test_a_prometheus_is_no_alertmanager(monitored: Monitoring) -> None:
    found = ask(alerts(monitored.url, "alertmanager"))
    assert (found.answer, found.why) == (Answer.UNKNOWN, "it answered 404")
