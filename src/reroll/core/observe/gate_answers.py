"""What the answers of a Prometheus, an Alertmanager and a webhook say.

Pure. What cannot be understood is unknown: never good, never bad.
"""

import math
from typing import Any

import msgspec

from reroll.core.model.gates import Answer, Measured, NoData, Query
from reroll.core.model.names import several
from reroll.core.model.unreadable import UNREADABLE

_LONGEST = 200


class _Data(msgspec.Struct):
    kind: str = msgspec.field(default="", name="resultType")
    result: Any = None


class _Prometheus(msgspec.Struct):
    status: str
    data: _Data = msgspec.field(default_factory=_Data)
    error: str = ""


class _Alert(msgspec.Struct):
    labels: dict[str, str]


class _Sample(msgspec.Struct):
    value: tuple[float, str]
    metric: dict[str, str] = {}


def unknown(why: str) -> Measured:
    return Measured(Answer.UNKNOWN, why)


def of_alerts(status: int, body: bytes, *, is_alertmanager: bool) -> Measured:
    """Open while no alert is in the answer."""
    if is_alertmanager:
        return _alertmanager(status, body)
    found = _vector(status, body)
    if isinstance(found, Measured):
        return found
    return _firing([sample.metric for sample in found])


def _alertmanager(status: int, body: bytes) -> Measured:
    if status != 200:
        return unknown(f"it answered {status}")
    try:
        alerts = msgspec.json.decode(body, type=list[_Alert])
    except UNREADABLE:
        return unknown("its answer is not that of an Alertmanager")
    return _firing([alert.labels for alert in alerts])


def _firing(alerts: list[dict[str, str]]) -> Measured:
    if not alerts:
        return Measured(Answer.OPEN, "no alert fires")
    names = sorted({clean(labels.get("alertname", "")) or "an alert" for labels in alerts})
    return Measured(Answer.CLOSED, f"{several(names)} fires", is_failure=True)


def of_query(question: Query, status: int, body: bytes) -> Measured:
    """Closed while a value is out of bounds; open only if all of them are known."""
    found = _vector(status, body)
    if isinstance(found, Measured):
        return found
    values = []
    for sample in found:
        try:
            values.append(float(sample.value[1]))
        except ValueError:
            return unknown("a value of its answer is not a number")
    for value in values:
        if question.most is not None and value > question.most:
            return Measured(Answer.CLOSED, f"{value:g} is over {question.most:g}", is_failure=True)
        if question.least is not None and value < question.least:
            why = f"{value:g} is under {question.least:g}"
            return Measured(Answer.CLOSED, why, is_failure=True)
    if not values or any(map(math.isnan, values)):
        return _nothing(question.no_data, "there is no value" if not values else "a value is NaN")
    return Measured(Answer.OPEN, several([f"{value:g}" for value in values]))


def _nothing(meaning: NoData, why: str) -> Measured:
    match meaning:
        case NoData.PASS:
            return Measured(Answer.OPEN, why)
        case NoData.FAIL:
            return Measured(Answer.CLOSED, why, is_failure=True)
    return unknown(why)


def of_webhook(status: int) -> Measured:
    """2xx: go. Who is not there, not let in or out of order has not said no."""
    if 200 <= status < 300:
        return Measured(Answer.OPEN, f"it answered {status}")
    if status >= 500 or status < 400 or status in _UNSAID:
        return unknown(f"it answered {status}")
    return Measured(Answer.CLOSED, f"it answered {status}")


_UNSAID = frozenset((401, 404, 405, 407, 408, 429))


def _vector(status: int, body: bytes) -> list[_Sample] | Measured:
    """The samples of an instant query, of a vector or a scalar."""
    try:
        found = msgspec.json.decode(body, type=_Prometheus)
    except UNREADABLE:
        if status != 200:
            return unknown(f"it answered {status}")
        return unknown("its answer is not that of a Prometheus")
    if status != 200 or found.status != "success":
        why = f": {clean(found.error)}" if found.error else ""
        return unknown(f"it answered {status}{why}")
    try:
        if found.data.kind == "vector":
            return msgspec.convert(found.data.result, list[_Sample])
        if found.data.kind == "scalar":
            return [_Sample(msgspec.convert(found.data.result, tuple[float, str]))]
    except UNREADABLE:
        return unknown("its answer is not that of a Prometheus")
    kind = clean(found.data.kind) or "nothing"
    return unknown(f"the query gives a {kind}; write one that gives numbers of one moment")


def clean(text: str) -> str:
    """A text of somebody else, as far as it may be shown."""
    return "".join(letter for letter in text if letter.isprintable())[:_LONGEST]
