"""The chart and gates: rows go into the config file, and egress opens for what they name."""

from typing import Any

import pytest
import yaml
from tests.chart.rendered import outside, template, the
from tests.support.tools import Tool

DNS = {"ports": [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]}


def rows(*urls: str) -> dict[str, Any]:
    return {"gates": [{"name": f"g{n}", "webhook": {"url": url}} for n, url in enumerate(urls)]}


def egress(helm: Tool, settings: dict[str, Any]) -> list[dict[str, Any]]:
    """What it lets out beside the API server."""
    values = {
        "settings": settings, "networkPolicy": {"egress": True}, "features": {"reload": False},
    }  # fmt: skip
    found: list[dict[str, Any]] = the(template(helm, values), "NetworkPolicy")["spec"]["egress"]
    return found[1:]


def of_namespace(name: str) -> dict[str, Any]:
    labels = {"kubernetes.io/metadata.name": name}
    return {"to": [{"namespaceSelector": {"matchLabels": labels}}]}


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("http://prometheus.monitoring:9090", of_namespace("monitoring")),
        ("http://am.obs.svc.cluster.local/x", of_namespace("obs")),
        ("http://hook:81", {"to": [{"podSelector": {}}]}),
        ("https://gate.example.com/x?y=z", outside(443)),
        ("http://gate.example.com", outside(80)),
        (
            "http://10.1.2.3:8000",
            {"to": [{"ipBlock": {"cidr": "10.1.2.3/32"}}], "ports": [{"port": 8000}]},
        ),
    ],
)
def test_egress_opens_for_what_a_gate_names_and_for_nothing_else(
    helm: Tool, url: str, rule: dict[str, Any]
) -> None:
    assert egress(helm, rows(url)) == [DNS, rule]


def test_without_gates_nothing_opens_and_an_address_opens_once(helm: Tool) -> None:
    assert egress(helm, {}) == []
    assert len(egress(helm, rows("http://hook", "http://hook"))) == 2


def test_the_rows_are_those_of_the_config_file(helm: Tool) -> None:
    settings = rows("http://hook")
    config = the(template(helm, {"settings": settings}), "ConfigMap")["data"]
    [text] = config.values()
    assert yaml.safe_load(text)["gates"] == settings["gates"]
