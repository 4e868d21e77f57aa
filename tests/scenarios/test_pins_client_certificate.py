"""The webhook answers the API server alone, where it is told whose certificate to ask for."""

import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.scenarios.pins import Installation, webhook_flags
from tests.scenarios.stage import Controller, Stage, eventually
from tests.scenarios.test_pins_webhook import names
from tests.support import session

from reroll.pki import Pair, Purpose, Span, issue, new_authority
from reroll_dev import components
from reroll_dev.cluster import DevCluster

SPAN = Span.of(datetime.now(UTC), timedelta(days=1))


def write(folder: Path, name: str, pair: Pair) -> Path:
    (folder / f"{name}.crt").write_bytes(pair.certificate)
    (folder / f"{name}.key").write_bytes(pair.key)
    return folder / name


def admission_configuration(folder: Path, pair: Path) -> Path:
    """As docs/guides/revisions.md tells it."""
    user = {"client-certificate": f"{pair}.crt", "client-key": f"{pair}.key"}
    kubeconfig = {"apiVersion": "v1", "kind": "Config", "users": [{"name": "*", "user": user}]}
    (folder / "webhooks.kubeconfig").write_text(json.dumps(kubeconfig))
    group = {"apiVersion": "apiserver.config.k8s.io/v1"}
    configuration = {
        **group,
        "kind": "WebhookAdmissionConfiguration",
        "kubeConfigFile": str(folder / "webhooks.kubeconfig"),
    }
    plugin = {"name": "MutatingAdmissionWebhook", "configuration": configuration}
    made = folder / "admission.yaml"
    made.write_text(json.dumps({**group, "kind": "AdmissionConfiguration", "plugins": [plugin]}))
    return made


@pytest.fixture
def authority() -> Pair:
    return new_authority("callers", SPAN)


@pytest.fixture
def certified(
    tmp_path: Path,
    control_plane: dict[str, Path],
    authority: Pair,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[DevCluster]:
    """A control plane whose API server shows webhooks a certificate."""
    pair = write(tmp_path, "apiserver", issue(authority, "kube-apiserver", Purpose.CLIENT, SPAN))
    file, usual = admission_configuration(tmp_path, pair), components.apiserver

    def apiserver(*args: Any, **more: Any) -> list[str]:
        return [*usual(*args, **more), f"--admission-control-config-file={file}"]

    monkeypatch.setattr(components, "apiserver", apiserver)
    made = DevCluster(tmp_path / "certified", progress=session.quiet())
    made.up(control_plane)
    yield made
    made.down()


def ask(url: str, pair: Path | None = None) -> int:
    """The status that an empty request gets; raises `OSError` where TLS does not stand."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if pair is not None:
        context.load_cert_chain(f"{pair}.crt", f"{pair}.key")
    try:
        with urllib.request.urlopen(url, b"{}", timeout=10, context=context) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


@pytest.fixture
def stage(certified: DevCluster) -> Iterator[Stage]:
    with certified.api() as api:
        yield Stage(api, "default")


def test_the_api_server_shows_its_certificate_and_others_are_not_answered(
    tmp_path: Path, certified: DevCluster, stage: Stage, authority: Pair
) -> None:
    installation = Installation(certified.kubeconfig(), stage.namespace)
    flags = (*webhook_flags(installation), "--webhook-client-ca", str(tmp_path / "ca.crt"))
    controller = Controller(
        certified.kubeconfig(), stage.namespace, tmp_path / "controller.log", flags
    )
    with pytest.raises(AssertionError, match=r"--webhook-client-ca: .*ca.crt: No such file"):
        controller.start()

    write(tmp_path, "ca", authority)
    controller.start()
    try:
        done = installation.install("--mode", "webhook", "--url", installation.url)
        assert done.code == 0, done.err
        assert eventually(lambda: names(stage)) == "copy"

        stranger = new_authority("strangers", SPAN)
        foreign = write(tmp_path, "foreign", issue(stranger, "x", Purpose.CLIENT, SPAN))
        for pair in (None, foreign):
            with pytest.raises(OSError, match=r"certificate|alert|closed|reset|EOF|pipe"):
                ask(installation.url, pair)
        assert ask(installation.url, tmp_path / "apiserver") == 400
    finally:
        controller.end()
