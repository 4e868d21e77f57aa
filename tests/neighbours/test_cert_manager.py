"""cert-manager writes the Secret: a renewal rolls what uses it once, and its bookkeeping never."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.neighbours.looks import custom, data, is_ready, rolled_once, secret, shown, templates
from tests.scenarios.revised import REVISIONS, copies, pin, pins
from tests.scenarios.stage import ENABLED, Controller, Stage, alone, eventually
from tests.support import build
from tests.support.build import Object
from tests.support.fixtures_neighbours import Running

Start = Callable[..., Controller]
VERSION = "cert-manager.io/v1"
WEB = build.deployment(mounts="secret/web-tls", annotations=ENABLED)
NEVER_PINNED = {"reroll.dev/revisions": "false"}


@pytest.fixture(autouse=True)
def manager(neighbour: Callable[[str], Running]) -> Running:
    return neighbour("cert-manager")


def certificate(name: str, issuer: str, **spec: Any) -> Object:
    own = {
        "secretName": f"{name}-tls",
        "commonName": name,
        "dnsNames": [f"{name}.example.invalid"],
        "duration": "1h0m0s",
        "renewBefore": "5m0s",
        "privateKey": {"algorithm": "ECDSA", "size": 256, "rotationPolicy": "Always"},
        "issuerRef": {"name": issuer},
    }
    return custom(VERSION, "Certificate", name, spec={**own, **spec})


def web(**spec: Any) -> Object:
    return certificate("web", "authority", **spec)


def authority() -> list[Object]:
    """Issuers of this namespace: one that signs itself, and the CA that it made."""
    return [
        custom(VERSION, "Issuer", "itself", spec={"selfSigned": {}}),
        certificate("ca", "itself", isCA=True),
        custom(VERSION, "Issuer", "authority", spec={"ca": {"secretName": "ca-tls"}}),
    ]


def issued(stage: Stage, wanted: Object) -> Object:
    return stage.api.wait_for(stage.path(wanted), is_ready, timeout=90, what="it is issued")


def renew(stage: Stage, wanted: Object) -> None:
    """As `cmctl renew` does it."""
    seen = issued(stage, wanted)
    condition = {
        "type": "Issuing",
        "status": "True",
        "reason": "ManuallyTriggered",
        "message": "somebody asked for it",
        "lastTransitionTime": seen["metadata"]["creationTimestamp"],
        "observedGeneration": seen["metadata"]["generation"],
    }
    status = {"status": {"conditions": [*seen["status"]["conditions"], condition]}}
    stage.api.patch(f"{stage.path(wanted)}/status", status)


def revision(stage: Stage, wanted: Object) -> int:
    return int(stage.get(wanted)["status"].get("revision", 0))


def test_a_renewal_rolls_what_uses_it_once(stage: Stage, controller: Start) -> None:
    other = build.deployment("other", mounts="secret/ca-tls", annotations=ENABLED)
    stage.make(*authority(), web())
    issued(stage, web())
    stage.make(WEB, other)
    alone(controller)
    first, theirs = stage.adopted(WEB), stage.adopted(other)
    before = data(stage, "web-tls")

    renew(stage, web())

    record = rolled_once(stage, WEB, since=first["n"])
    assert record["by"] == ["secret/web-tls"]
    assert data(stage, "web-tls")["tls.crt"] != before["tls.crt"]
    assert data(stage, "web-tls")["tls.key"] != before["tls.key"]
    assert templates(stage, WEB) == 2
    assert stage.record(other) == theirs


def test_a_certificate_that_runs_out_is_renewed_and_rolls_once(
    stage: Stage, controller: Start
) -> None:
    """Nobody asks: it is due twenty seconds after it was made, and then every hour."""
    stage.make(*authority(), web(renewBefore="59m40s"))
    issued(stage, web())
    stage.make(WEB)
    alone(controller)
    first = stage.adopted(WEB)
    known = revision(stage, web())

    record = stage.rolled(WEB, since=first["n"])
    stage.api.patch(stage.path(web()), {"spec": {"renewBefore": "5m0s"}})
    assert record["by"] == ["secret/web-tls"]
    eventually(lambda: revision(stage, web()) > known, "it was renewed")
    stage.settled(WEB)
    assert templates(stage, WEB) == 1 + revision(stage, web()) - known


def test_the_bookkeeping_of_the_issuer_rolls_nothing(stage: Stage, controller: Start) -> None:
    """Labels and annotations on the Secret, conditions, requests, the key that comes next."""
    stage.make(*authority(), web())
    issued(stage, web())
    stage.make(WEB)
    alone(controller)
    record = stage.adopted(WEB)
    before = secret(stage, "web-tls")

    labels = {"labels": {"team": "a"}, "annotations": {"note": "new"}}
    stage.api.patch(stage.path(web()), {"spec": {"secretTemplate": labels}})

    eventually(
        lambda: "team" in secret(stage, "web-tls")["metadata"].get("labels", {}),
        "cert-manager labels the Secret",
    )
    issued(stage, web())
    assert data(stage, "web-tls") == before["data"]
    stage.quiet(WEB, 3)
    assert stage.record(WEB) == record
    assert templates(stage, WEB) == 1


def test_an_old_certificate_is_never_pinned_where_the_certificate_says_so(
    stage: Stage, controller: Start
) -> None:
    pinned = build.deployment(uses="configmap/app", mounts="secret/web-tls", annotations=REVISIONS)
    stage.make(*authority(), web(secretTemplate={"annotations": NEVER_PINNED}))
    issued(stage, web())
    stage.make(build.configmap("app"), pinned)
    alone(controller)
    copy = pin(stage, pinned)
    number = stage.adopted(pinned)["n"]

    renew(stage, web())

    record = stage.rolled(pinned, since=number)
    stage.settled(pinned)
    assert record["by"] == ["secret/web-tls"]
    assert pins(stage, pinned) == {("ConfigMap", "app"): copy}
    assert copies(stage, "web-tls") == {}


def test_the_example_of_the_guide_does_what_it_says(stage: Stage, controller: Start) -> None:
    shown_here = shown("with-cert-manager.md")
    wanted, deployment = shown_here["certificate.yaml"], shown_here["web.yaml"]
    stage.make(*authority(), wanted)
    issued(stage, wanted)
    stage.make(deployment)
    alone(controller)
    number = stage.adopted(deployment)["n"]
    assert secret(stage, "web-tls")["metadata"]["annotations"].items() >= NEVER_PINNED.items()
    renew(stage, wanted)
    assert rolled_once(stage, deployment, since=number)["by"] == ["secret/web-tls"]
