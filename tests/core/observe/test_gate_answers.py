"""What answers of a Prometheus, an Alertmanager and a webhook say; in doubt, nothing."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reroll.core.model.gates import Answer, NoData, Query, Server
from reroll.core.observe.gate_answers import of_alerts, of_query, of_webhook

BETWEEN = Query(Server("http://x"), "q", least=0, most=1)


def answer(kind: str, result: Any) -> bytes:
    return json.dumps(
        {"status": "success", "data": {"resultType": kind, "result": result}}
    ).encode()


def vector(*values: str) -> bytes:
    return answer(
        "vector", [{"metric": {"a": str(n)}, "value": [1.5, v]} for n, v in enumerate(values)]
    )


@pytest.mark.parametrize(
    ("body", "found", "why"),
    [
        (vector("0.5"), Answer.OPEN, "0.5"),
        (vector("0", "1"), Answer.OPEN, "0, 1"),
        (answer("scalar", [1.5, "0.5"]), Answer.OPEN, "0.5"),
        (vector("1.01"), Answer.CLOSED, "1.01 is over 1"),
        (vector("-0.1"), Answer.CLOSED, "-0.1 is under 0"),
        (vector("0.5", "2"), Answer.CLOSED, "2 is over 1"),
        (vector("NaN", "2"), Answer.CLOSED, "2 is over 1"),
        (vector("+Inf"), Answer.CLOSED, "inf is over 1"),
        (vector(), Answer.UNKNOWN, "there is no value"),
        (vector("NaN"), Answer.UNKNOWN, "a value is NaN"),
        (vector("0.5", "NaN"), Answer.UNKNOWN, "a value is NaN"),
        (vector("many"), Answer.UNKNOWN, "a value of its answer is not a number"),
        (answer("string", [1.5, "0.5"]), Answer.UNKNOWN, "the query gives a string"),
        (answer("matrix", []), Answer.UNKNOWN, "the query gives a matrix"),
        (answer("vector", [{"value": 5}]), Answer.UNKNOWN, "not that of a Prometheus"),
        (answer("vector", None), Answer.UNKNOWN, "not that of a Prometheus"),
        (b"{}", Answer.UNKNOWN, "not that of a Prometheus"),
        (b"<html>", Answer.UNKNOWN, "not that of a Prometheus"),
        (b"\xff\xfe", Answer.UNKNOWN, "not that of a Prometheus"),
        (b"", Answer.UNKNOWN, "not that of a Prometheus"),
        (b"[1" * 100_000, Answer.UNKNOWN, "not that of a Prometheus"),
    ],
)  # fmt: skip
def test_values_of_a_query(body: bytes, found: Answer, why: str) -> None:
    measured = of_query(BETWEEN, 200, body)
    assert measured.answer is found
    assert why in measured.why
    assert measured.is_failure == (found is Answer.CLOSED)


@pytest.mark.parametrize(
    ("no_data", "found", "failure"),
    [
        (NoData.WAIT, Answer.UNKNOWN, False),
        (NoData.PASS, Answer.OPEN, False),
        (NoData.FAIL, Answer.CLOSED, True),
    ],
)
@pytest.mark.parametrize("body", [vector(), vector("NaN")])
def test_what_no_data_means_is_said_by_the_row(
    no_data: NoData, found: Answer, failure: bool, body: bytes
) -> None:
    measured = of_query(Query(Server("http://x"), "q", most=1, no_data=no_data), 200, body)
    assert (measured.answer, measured.is_failure) == (found, failure)


@pytest.mark.parametrize("status", [200, 302, 400, 401, 403, 422, 429, 500, 503])
def test_an_error_is_unknown_whatever_no_data_means(status: int) -> None:
    question = Query(Server("http://x"), "q", most=1, no_data=NoData.FAIL)
    body = json.dumps({"status": "error", "errorType": "x", "error": "parse\nerror " + "x" * 999})
    measured = of_query(question, status, body.encode())
    assert (measured.answer, measured.is_failure) == (Answer.UNKNOWN, False)
    assert f"it answered {status}: parseerror x" in measured.why
    assert len(measured.why) < 300


def test_an_error_that_is_no_document_tells_its_status() -> None:
    assert of_query(BETWEEN, 502, b"<html>").why == "it answered 502"
    assert of_alerts(401, b"no", is_alertmanager=False).why == "it answered 401"
    assert of_alerts(500, b"[]", is_alertmanager=True).why == "it answered 500"


def alerts(*names: str) -> bytes:
    return answer("vector", [{"metric": {"alertname": n}, "value": [1, "1"]} for n in names])


def test_an_alert_that_fires_closes() -> None:
    found = of_alerts(200, alerts("Down", "Slow", "Down"), is_alertmanager=False)
    assert (found.answer, found.why, found.is_failure) == (Answer.CLOSED, "Down, Slow fires", True)
    assert of_alerts(200, alerts(), is_alertmanager=False).answer is Answer.OPEN


def test_alerts_of_an_alertmanager() -> None:
    body = json.dumps([{"labels": {"alertname": "Down"}, "status": {"state": "active"}}]).encode()
    assert of_alerts(200, body, is_alertmanager=True).answer is Answer.CLOSED
    assert of_alerts(200, b"[]", is_alertmanager=True).answer is Answer.OPEN
    assert of_alerts(200, b'{"a": 1}', is_alertmanager=True).answer is Answer.UNKNOWN


@pytest.mark.parametrize(
    ("status", "found"),
    [
        *((status, Answer.OPEN) for status in (200, 202, 204, 299)),
        *((status, Answer.CLOSED) for status in (400, 403, 409, 412, 423)),
        *((status, Answer.UNKNOWN) for status in (301, 307, 401, 404, 407, 429, 500, 503)),
    ],
)
def test_a_webhook_says_yes_no_or_nothing(status: int, found: Answer) -> None:
    measured = of_webhook(status)
    assert (measured.answer, measured.is_failure) == (found, False)
    assert str(status) in measured.why


@given(st.integers(100, 599), st.binary(max_size=200))
def test_bytes_never_open_a_gate(status: int, body: bytes) -> None:
    assert of_query(BETWEEN, status, body).answer is Answer.UNKNOWN
    assert of_alerts(status, body, is_alertmanager=False).answer is Answer.UNKNOWN
