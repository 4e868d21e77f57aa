"""Messages for programs: a webhook of one's own, CloudEvents 1.0, Alertmanager's alerts. Pure."""

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from urllib.parse import quote

from reroll.core.policy.receivers import PLACEHOLDER, AlertmanagerTo, CloudEventsTo, WebhookTo
from reroll.features.notices.bulletin import Bulletin, State, document, stamp, values
from reroll.features.notices.receivers.parcel import JSON, Parcel, cut, in_json

RESEND = 60.0
"""Seconds after which an alert that is still so is sent again; else Alertmanager forgets it."""
LASTS = timedelta(seconds=5 * RESEND)
"""How long one counts that is not sent again: longer than another replica needs to take over."""
_TEXT = 4000
_NAMESPACE = re.compile(r"[^/\s]+ ([^/\s,]+)/[^/\s,]+|namespace ([^/\s,]+)")
"""What is about one source, or about one namespace."""


# A webhook


def webhook(to: WebhookTo, message: Bulletin, _: str) -> Parcel:
    """The sender signs it, where that is configured: see `features.notices.sending`."""
    identity = ("Idempotency-Key", message.id)
    if to.template is None:
        return in_json(document(message), identity)
    filled = _filled(to.template, values(message))
    if isinstance(filled, str):
        plain = ("Content-Type", "text/plain; charset=utf-8")
        return Parcel(filled.encode(), (plain, identity))
    return in_json(filled, identity)


def _filled(template: Any, known: Mapping[str, str]) -> Any:
    """What is put in is never looked at again, so that no text can name another."""
    if isinstance(template, str):
        return PLACEHOLDER.sub(lambda found: known[found[1]], template)
    if isinstance(template, Mapping):
        return {str(name): _filled(value, known) for name, value in template.items()}
    if isinstance(template, list):
        return [_filled(value, known) for value in template]
    return template


# CloudEvents


def cloudevents(to: CloudEventsTo, message: Bulletin, _: str) -> Parcel:
    attributes = {
        "specversion": "1.0",
        "id": message.id,
        "source": to.source,
        "type": f"dev.reroll.notice.{message.news}.{message.state}",
        "subject": cut(message.about, 200),
        "time": stamp(message.at),
    }
    if to.mode == "structured":
        event = {**attributes, "datacontenttype": "application/json", "data": document(message)}
        kind = "application/cloudevents+json; charset=utf-8"
        return Parcel(in_json(event).body, (("Content-Type", kind),))
    headers = ((f"ce-{name}", _header(text)) for name, text in attributes.items())
    return Parcel(in_json(document(message)).body, (JSON, *headers))


def _header(text: str) -> str:
    """As the HTTP binding of CloudEvents says: what is not printable ASCII is percent-encoded."""
    printable = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) not in '"%')
    return quote(text, safe=printable)


# Alertmanager


def alertmanager(to: AlertmanagerTo, message: Bulletin, _: str) -> Parcel:
    """Labels say which alert it is, so nothing that changes is in them."""
    name = "".join(word.title() for word in message.news.word.split("-"))
    is_test = message.state is State.TEST
    labels = {
        **to.labels,
        "alertname": "RerollNoticeTest" if is_test else f"RerollNotice{name}",
        "severity": "info" if is_test else message.news.severity,
        "notice": message.notice,
        "news": message.news.word,
        "sources": cut(message.about, 200),
        "change": message.change,
        "cluster": message.cluster,
    }
    if found := _NAMESPACE.fullmatch(message.about):
        labels["namespace"] = found[1] or found[2]
    is_over = message.state is State.OVER
    alert = {
        "labels": {name: text for name, text in labels.items() if text},
        "annotations": {"summary": message.title, "description": cut(message.text, _TEXT)},
        "startsAt": stamp(message.since),
        "endsAt": stamp(message.at if is_over else message.at + LASTS),
    }
    if message.link:
        alert["generatorURL"] = message.link
    return in_json([alert], path="/api/v2/alerts")
