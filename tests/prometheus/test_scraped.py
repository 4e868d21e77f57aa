"""A controller, a Prometheus that scrapes it, and gates between them."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.scenarios import custom
from tests.scenarios.injecting import Injecting, gadget, injection, source
from tests.scenarios.propagating import begun, change, judged, told, verdict, web
from tests.scenarios.rolling import that_fails
from tests.scenarios.stage import Controller, Stage, Web, eventually
from tests.support import build
from tests.support.fixtures_prometheus import Monitoring, until

ROOT = Path(__file__).parents[2]
DASHBOARD = json.loads((ROOT / "charts" / "reroll" / "files" / "dashboard.json").read_text())
QUERIES = {
    f"{panel['title']} ({number})": target["expr"]
    for panel in DASHBOARD["panels"]
    for number, target in enumerate(panel.get("targets", ()))
}
Start = Callable[..., Controller]


def filled(text: str) -> str:
    """As Grafana asks it, for everything and with its least range."""
    for name, value in (("$namespace", ".*"), ("$job", ".*"), ("$__rate_interval", "1m")):
        text = text.replace(name, value)
    return text


@pytest.fixture
def scraped(monitored: Monitoring, web_: Web) -> Monitoring:
    monitored.scrape(web_.address, namespace="reroll")
    return monitored


@pytest.fixture
def web_() -> Web:
    return Web()


def test_an_alert_of_a_real_prometheus_holds_a_roll_and_fails_one_that_soaks(
    stage: Stage, controller: Start, monitored: Monitoring, tmp_path: Path
) -> None:
    down = {
        "alert": "Down",
        "expr": "vector(1)",
        "labels": {"severity": "critical", "namespace": stage.namespace},
    }
    row = {
        "name": "calm",
        "prometheus": {"url": monitored.url},
        "alerts": 'severity="critical", namespace="$namespace"',
        "every": "1s",
    }
    config = custom.config(tmp_path, {"gates": [row]})
    monitored.rules(down)
    until(lambda: monitored.query(f'ALERTS{{namespace="{stage.namespace}"}}'), "it fires")
    one = web(0, gates="calm", soak="1h")
    stage.make(build.configmap(), one)
    begun(stage, controller, (one,), "--config", config)

    change(stage, "new")
    told(stage, one, "GateClosed", "calm: Down fires")
    assert not stage.record(one).get("rolled")
    monitored.rules()
    eventually(lambda: stage.record(one).get("rolled"), "it rolls")
    stage.settled(one)

    monitored.stop("prometheus")
    told(stage, one, "GateUnknown", "calm while it soaks: cannot connect to 127.0.0.1:")
    assert verdict(stage, one) == ""
    monitored.start()
    monitored.rules(down)
    assert judged(stage, one, "failed")["why"] == "gate calm: Down fires"


def test_every_query_of_the_dashboard_returns_data(
    stage: Stage, injecting: Injecting, web_: Web, scraped: Monitoring, tmp_path: Path
) -> None:
    """Even those of troubles: a rollout failed, a change is stopped, a gate is closed."""
    row = {"name": "no", "prometheus": {"url": scraped.url}, "query": "vector(1)", "max": 0}
    to = {"alertmanager": {"url": scraped.alerts_url}}
    notice = {"name": "oncall", "gather": "1s", "to": to}
    config = custom.config(tmp_path, {"gates": [row], "notices": [notice]})
    sick, stopped = web(0, wave="-1", deadline="2s"), web(1)
    gated = web(2, uses=["configmap/other"], gates="no", soak="soon")
    stage.make(build.configmap(), build.configmap("other"))
    that_fails(stage, sick)
    stage.make(stopped, gated)
    goal = gadget()
    stage.make(goal, injection("i", source("missing", "key"), goal, "spec.token"))
    flags = (*web_.flags, "--config", config)
    begun(stage, injecting.start, (sick, stopped, gated), *flags)
    change(stage, "new")
    change(stage, "new", "other")
    judged(stage, sick, "failed")
    told(stage, stopped, "Stopped")
    told(stage, gated, "GateClosed", "no: 1 is over 0")

    def unanswered() -> set[str]:
        return {name for name, text in QUERIES.items() if not scraped.query(filled(text))}

    until(lambda: not unanswered(), "every query answers")
