"""The table of receivers: how each is told, and what it can do beside that."""

from collections.abc import Callable
from typing import Any, NamedTuple

from reroll.core.policy.notice import Notice
from reroll.core.policy.receivers import SlackTo
from reroll.features.notices.bulletin import Bulletin
from reroll.features.notices.receivers import chats, programs
from reroll.features.notices.receivers.parcel import Parcel

Encode = Callable[[Any, Bulletin, str], Parcel]
"""What is needed of a receiver, a message, and the reference of the one that it updates."""


class Receiver(NamedTuple):
    encode: Encode | None
    """`None`: it is mail."""
    resend: float | None = None
    """Seconds after which what is still so is told again."""


RECEIVERS: dict[str, Receiver] = {
    "slack": Receiver(chats.slack),
    "teams": Receiver(chats.teams),
    "googlechat": Receiver(chats.googlechat),
    "webhook": Receiver(programs.webhook),
    "cloudevents": Receiver(programs.cloudevents),
    "alertmanager": Receiver(programs.alertmanager, programs.RESEND),
    "email": Receiver(None),
}


def resends(notice: Notice) -> float | None:
    return RECEIVERS[notice.receiver].resend


def updates(notice: Notice) -> bool:
    """Whether its first message can be updated."""
    return isinstance(notice.to, SlackTo) and bool(notice.to.token_file)
