"""`reroll dashboard` where it cannot start: a sentence, and what to do."""

import importlib.util
import socket
from pathlib import Path
from typing import Any

import pytest
from tests.support.command import reroll

from reroll.cli.errors import Exit

KUBECONFIG = """\
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
users: [{name: u, user: {}}]
current-context: c
"""


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = importlib.util.find_spec

    def spec(name: str) -> Any:
        return None if name == "uvicorn" else usual(name)

    monkeypatch.setattr(importlib.util, "find_spec", spec)
    done = reroll("dashboard")
    assert done.code == Exit.FAILED
    assert "uvicorn, which is not installed; run: pip install 'reroll[dashboard]'" in done.err


def test_a_number_that_is_no_port_is_wrong_usage() -> None:
    done = reroll("dashboard", "--port", "70000")
    assert done.code == Exit.USAGE
    assert "70000 is not a port" in done.err


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(KUBECONFIG)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = reroll(
            *("dashboard", "--port", str(port), "--no-browser", "--kubeconfig", kubeconfig)
        )
    assert done.code == Exit.FAILED
    assert f"cannot listen on 127.0.0.1:{port}" in done.err
    assert "choose another --port" in done.err


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (("--auth", "local", "--public-url", "https://a.example"), "for this machine alone"),
        (("--address", "0.0.0.0"), "for this machine alone"),
        (("--auth", "proxy"), "say from which addresses with --proxy-from"),
        (("--auth", "proxy", "--proxy-from", "x"), "--proxy-from: 'x' is neither an address"),
        (("--auth", "token", "--public-url", "a.example"), "--public-url: 'a.example' is no"),
        (("--auth", "token", "--tls-cert-file", "a"), "go together"),
        (
            ("--auth", "proxy", "--proxy-from", "::1", "--proxy-secret-file", "/nowhere"),
            "/nowhere: there is no such file",
        ),
    ],
)
def test_flags_that_do_not_go_together_are_wrong_usage(flags: tuple[str, ...], why: str) -> None:
    done = reroll("dashboard", *flags)
    assert done.code == Exit.USAGE
    assert why in done.err


def test_in_a_pod_it_has_to_be_said_whose_rights_pages_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.delenv("KUBECONFIG", raising=False)
    done = reroll("dashboard")
    assert done.code == Exit.USAGE
    assert "say whose rights a page has with --auth token, proxy or none" in done.err
