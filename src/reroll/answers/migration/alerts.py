"""Reloader's messages about its rolls, as rows of `notices:`. Pure.

An address is a secret, so it is never taken over: the row names the file that it belongs into.
"""

from collections.abc import Mapping
from typing import Any

from reroll.answers.migration.rows import Fate, Row, one_of

NOTICES = "notices"
FOLDER = "/etc/reroll-notices"
_SINKS: dict[str, dict[str, Any]] = {
    "slack": {"slack": {"webhook-file": f"{FOLDER}/reloader"}},
    "teams": {"teams": {"webhook-file": f"{FOLDER}/reloader"}},
    "gchat": {"googlechat": {"webhook-file": f"{FOLDER}/reloader"}},
    "webhook": {"webhook": {"url-file": f"{FOLDER}/reloader", "template": {"text": "${text}"}}},
}


def _row(name: str, word: str, turn: Any, *, private: bool = False) -> Row:
    return Row(name, Fate.SETTING, word, NOTICES, turn=turn, private=private)


def _sink(text: str) -> dict[str, Any]:
    """Whatever it does not know, Reloader takes for a plain webhook."""
    return {"sink": text.lower() if text.lower() in _SINKS else "webhook"}


WEBHOOK = _row(
    "--webhook-url",
    "Reloader posts there instead of rolling, and so does this row with the strategy `notify`; "
    f"put the address into the file {FOLDER}/webhook, and see `template` for its body",
    lambda _: {"webhook": True},
    private=True,
)
ALERTS: tuple[Row, ...] = (
    _row(
        "ALERT_ON_RELOAD",
        "one message for each change instead of one for each workload; `about` chooses more",
        one_of(true={"alerts": True}, false=None, **{"": None}),
    ),
    _row(
        "ALERT_SINK",
        "Teams takes messages by a flow of Workflows only, whose address is another",
        _sink,
    ),
    _row(
        "ALERT_WEBHOOK_URL",
        f"put the address into the file {FOLDER}/reloader",
        lambda _: {"address": True},
        private=True,
    ),
    _row("ALERT_ADDITIONAL_INFO", "it is in every title", lambda text: {"cluster": text}),
    Row(
        "ALERT_WEBHOOK_PROXY",
        Fate.UNNEEDED,
        "set HTTPS_PROXY and NO_PROXY in the environment of the controller",
        private=True,
    ),
)


def notices(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows that say the same as these."""
    rows: list[dict[str, Any]] = []
    if found.get("alerts"):
        to = _SINKS[found.get("sink", "webhook")]
        more = {"cluster": found["cluster"]} if found.get("cluster") else {}
        rows.append({"name": "reloader", "to": to, "about": ["rolled"], **more})
    if found.get("webhook"):
        to = {"webhook": {"url-file": f"{FOLDER}/webhook"}}
        rows.append({"name": "webhook", "to": to, "about": ["rolled"]})
    return rows
