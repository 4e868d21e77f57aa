"""A preview shows the very body that a receiver would get, and nothing that is secret."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.features.notices.telling import VARIED, message, row

from reroll.core.policy.receivers import RECEIVERS
from reroll.features.notices.bulletin import State
from reroll.features.notices.preview import Preview, trial

SECRET = "s3cr3t"


def configured(receiver: str, folder: Path) -> dict[str, Any]:
    """A receiver whose secrets are all in one file."""
    file = folder / "secret"
    file.write_text(f"https://example.com/{SECRET}")
    return {
        "slack": {"token-file": str(file), "channel": "C01"},
        "webhook": {"url-file": str(file), "token-file": str(file), "secret-file": str(file)},
        "cloudevents": {"url-file": str(file), "token-file": str(file)},
        "alertmanager": {"url": f"http://a/{SECRET}", "token-file": str(file)},
        "email": {
            "host": "mail", "sender": "a@example.com", "recipients": ["b@example.com"],
            "user": "me", "password-file": str(file),
        },
    }.get(receiver, {"webhook-file": str(file)})  # fmt: skip


@pytest.mark.parametrize("receiver", RECEIVERS)
def test_every_receiver_has_a_body_to_show_without_a_secret(receiver: str, tmp_path: Path) -> None:
    notice = row({receiver: configured(receiver, tmp_path)})
    for said in (*VARIED.values(), message(State.TEST)):
        body = Preview(notice, said).body
        assert "Subject: " in body if receiver == "email" else json.loads(body)
        assert SECRET not in body


def test_a_test_says_that_nothing_has_happened() -> None:
    said = trial(row(), message().at)
    assert said.title == "Test: notice team gets through"
    assert "nobody has to do anything" in said.text
