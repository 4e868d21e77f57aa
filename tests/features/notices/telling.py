"""What tests of notices are written with: rows, reports and messages."""

import json
from datetime import UTC, datetime
from typing import Any

from reroll.core.dialects.notice_rows import notices
from reroll.core.model.key import Key
from reroll.core.policy.notice import Notice
from reroll.core.tables.news import News
from reroll.features.notices.bulletin import Bulletin, State
from reroll.features.notices.incidents import Topic, topic
from reroll.features.notices.receivers.parcel import Parcel
from reroll.features.notices.receivers.table import RECEIVERS

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)
APP = Key("ConfigMap", "shop", "app")


def web(number: int, namespace: str = "shop") -> Key:
    return Key("Deployment", namespace, f"web-{number}")


def about(news: News = News.STOPPED, change: str = "c1", source: Key = APP) -> Topic:
    return topic(news, (source,), change, web(1))


def row(to: dict[str, Any] | None = None, **more: Any) -> Notice:
    """A row as a config file has it; without a receiver, a webhook."""
    to = to or {"webhook": {"url": "http://127.0.0.1:9/"}}
    found, problems = notices([{"name": "team", "to": to, **more}])
    assert problems == []
    return found[0]


def message(state: State = State.OPEN, count: int = 9, **more: Any) -> Bulletin:
    values: dict[str, Any] = {
        "notice": "team",
        "news": News.STOPPED,
        "state": state,
        "about": "configmap shop/app",
        "change": "0123456789abcdef",
        "since": NOW,
        "at": NOW,
        "count": count,
        "workloads": (
            ("Deployment shop/web-1", "Deployment shop/web-0 failed"),
            ("Deployment shop/web-2", ""),
        ),
        "namespaces": ("shop",),
        "topic": "fedcba9876543210",
        **more,
    }
    return Bulletin(**values)


VARIED = {
    "usual": message(),
    "huge": message(
        about="configmap shop/" + "x" * 5000,
        workloads=tuple((f"Deployment shop/{'w' * 250}-{n}", "y" * 2000) for n in range(5)),
        count=10_000,
        cluster="c" * 100,
        link="https://reroll.example.com/",
    ),
    "hostile": message(
        about="configmap shop/<!channel> & <users/all>",
        workloads=(("Deployment shop/w", "[log in](https://evil.example/) <https://e|x>\r\n\0ü"),),
        link='https://reroll.example.com/?a="<b>"&c=%22',
    ),
    "over": message(State.OVER, moved_to=News.FAILED),
}
"""Messages that a receiver has to understand."""


def encoded(receiver: str, said: Bulletin, ref: str = "", **to: Any) -> Parcel:
    encode = RECEIVERS[receiver].encode
    assert encode is not None
    return encode(row({receiver: to}).to, said, ref)


def body(receiver: str, said: Bulletin, ref: str = "", **to: Any) -> Any:
    return json.loads(encoded(receiver, said, ref, **to).body)
