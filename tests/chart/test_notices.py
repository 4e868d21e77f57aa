"""The chart and notices: their files, and no way out but to what their rows name."""

from typing import Any

import pytest
from tests.chart.rendered import outside, template, the
from tests.support.tools import Tool

DNS = {"ports": [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]}
QUIET = {"networkPolicy": {"egress": True}, "features": {"reload": False}}


def egress(helm: Tool, *rows: dict[str, Any], **notices: Any) -> list[dict[str, Any]]:
    """What it lets out beside the API server."""
    values = {**QUIET, "settings": {"notices": list(rows)}, "notices": notices}
    found: list[dict[str, Any]] = the(template(helm, values), "NetworkPolicy")["spec"]["egress"]
    return found[1:]


def row(name: str = "a", **to: Any) -> dict[str, Any]:
    return {"name": name, "to": to}


def mail(host: str, **more: Any) -> dict[str, Any]:
    return row(email={"host": host, "sender": "a@b", "recipients": ["a@b"], **more})


def namespace(name: str) -> dict[str, Any]:
    return {"to": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}}]}


def block(cidr: str, port: int) -> dict[str, Any]:
    return {"to": [{"ipBlock": {"cidr": cidr}}], "ports": [{"port": port}]}


BOT = {"token-file": "/t", "channel": "C01"}
RULES: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {
    "in a file": (row(slack={"webhook-file": "/s"}), [outside(443)]),
    "a bot": (row(slack=BOT), [namespace("com"), outside(443)]),
    "a bot elsewhere": (
        row(slack={**BOT, "api": "http://slack.fake.svc:81/api"}),
        [namespace("fake")],
    ),
    "a service": (
        row(alertmanager={"url": "http://am.monitoring:9093"}),
        [namespace("monitoring")],
    ),
    "a service here": (row(webhook={"url": "http://hook/x"}), [{"to": [{"podSelector": {}}]}]),
    "a host": (row(webhook={"url": "http://hook.example.com/x:1"}), [outside(80)]),
    "a domain": (row(webhook={"url": "https://example.com"}), [namespace("com"), outside(443)]),
    "an address": (
        row(cloudevents={"url": "https://10.1.2.3:8443/"}),
        [block("10.1.2.3/32", 8443)],
    ),
    "of six": (row(cloudevents={"url": "http://[fd00::1]"}), [block("fd00::1/128", 80)]),
    "mail": (mail("mail.example.com"), [outside(587)]),
    "mail here": (mail("postfix", port=25), [{"to": [{"podSelector": {}}]}]),
}


@pytest.mark.parametrize(("given", "rules"), RULES.values(), ids=RULES.keys())
def test_egress_opens_for_what_a_row_names_and_for_nothing_else(
    helm: Tool, given: dict[str, Any], rules: list[dict[str, Any]]
) -> None:
    assert egress(helm, given) == [DNS, *rules]


def test_networks_of_a_receiver_are_all_that_is_open_for_it(helm: Tool) -> None:
    rows = (row("a", slack={"webhook-file": "/s"}), row("b", teams={"webhook-file": "/t"}))
    found = egress(helm, *rows, cidrs={"a": ["192.0.2.0/24"]})
    assert found == [DNS, block("192.0.2.0/24", 443), outside(443)]

    with pytest.raises(
        AssertionError, match=r'names "c", and no row of `settings.notices` is called that'
    ):
        egress(helm, *rows, cidrs={"c": ["192.0.2.0/24"]})


def test_without_rows_nothing_opens_and_nothing_is_mounted(helm: Tool) -> None:
    assert egress(helm) == []
    assert "notices" not in str(the(template(helm, QUIET), "Deployment"))


def test_a_secret_is_files_of_the_controller(helm: Tool) -> None:
    objects = template(helm, {**QUIET, "notices": {"secret": "mine"}})
    pod = the(objects, "Deployment")["spec"]["template"]["spec"]
    [mount] = [one for one in pod["containers"][0]["volumeMounts"] if one["name"] == "notices"]
    [volume] = [one for one in pod["volumes"] if one["name"] == "notices"]
    assert (mount["mountPath"], mount["readOnly"]) == ("/etc/reroll-notices", True)
    assert volume["secret"]["secretName"] == "mine"
