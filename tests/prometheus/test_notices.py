"""Notices to a real Alertmanager: it takes them, shows them once, and forgets them at their end."""

import json
from datetime import datetime, timedelta
from typing import Any
from urllib.request import urlopen

import msgspec
import pytest
from tests.features.notices.telling import VARIED, encoded, message, row
from tests.support.fixtures_prometheus import Monitoring, until

from reroll.clock import SystemClock
from reroll.features.notices.bulletin import State
from reroll.features.notices.sending import NotSent, Sender


def alerts(monitored: Monitoring, team: str = "shop") -> list[dict[str, Any]]:
    with urlopen(f"{monitored.alerts_url}/api/v2/alerts", timeout=10) as answer:
        found: list[dict[str, Any]] = json.load(answer)
    return [one for one in found if one["labels"].get("team") == team]


@pytest.mark.parametrize("which", VARIED)
async def test_it_takes_every_message(monitored: Monitoring, which: str) -> None:
    """It judges them by the schema of its API, and shows what it made of them."""
    to = {"alertmanager": {"url": monitored.alerts_url, "labels": {"team": which}}}
    at = SystemClock().now().replace(microsecond=0)
    times = {"at": at, "since": at - timedelta(minutes=1)}
    said = msgspec.structs.replace(VARIED[which], state=State.OPEN, **times)
    await Sender(SystemClock(), {}).send(row(to), said)

    [sent] = json.loads(encoded("alertmanager", said, **to["alertmanager"]).body)
    [alert] = until(lambda: alerts(monitored, which), "the alert is there")
    assert {name: alert[name] for name in ("labels", "annotations")} == {
        name: sent[name] for name in ("labels", "annotations")
    }
    assert alert.get("generatorURL", "") == said.link
    assert datetime.fromisoformat(alert["startsAt"]) == said.since


async def test_it_refuses_what_its_schema_does_not_know(monitored: Monitoring) -> None:
    notice = row({"webhook": {"url": f"{monitored.alerts_url}/api/v2/alerts"}})
    with pytest.raises(NotSent, match="answered with status 4"):
        await Sender(SystemClock(), {}).send(notice, message())


async def test_a_problem_is_one_alert_until_its_end(monitored: Monitoring) -> None:
    clock = SystemClock()
    begun = clock.now()
    to = {"alertmanager": {"url": monitored.alerts_url, "labels": {"team": "shop"}}}
    notice, sender = row(to, link="https://reroll.example.com/"), Sender(clock, {})

    for count in (1, 200):
        said = message(since=begun, at=clock.now(), count=count, link=notice.link)
        await sender.send(notice, said)
    [alert] = until(lambda: alerts(monitored), "the alert is there")
    assert alert["labels"]["alertname"] == "RerollNoticeStopped"
    assert alert["labels"]["team"] == "shop"
    assert alert["status"]["state"] in {"active", "unprocessed"}
    assert alert["annotations"]["summary"] == "Stopped: configmap shop/app"
    assert "200 workloads" in alert["annotations"]["description"]
    assert alert["generatorURL"] == "https://reroll.example.com/"

    await sender.send(notice, message(State.OVER, since=begun, at=clock.now()))
    until(lambda: not alerts(monitored), "the alert is gone")
