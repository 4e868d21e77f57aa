"""Messages for chats: Slack's blocks, an Adaptive Card for Teams, text for Google Chat. Pure."""

import re
from typing import Any

import msgspec

from reroll.core.model.unreadable import UNREADABLE
from reroll.core.policy.receivers import GoogleChatTo, SlackTo, TeamsTo
from reroll.features.notices.bulletin import Bulletin, State
from reroll.features.notices.receivers.parcel import Parcel, cut, in_json

SLACK_HEADER, SLACK_SECTION = 150, 3000
"""Characters that Slack takes in a header and in a section."""
GOOGLE_TEXT = 4000
"""Characters; Google Chat takes 4096 in a text."""
CARD = "application/vnd.microsoft.card.adaptive"
CARD_VERSION = "1.4"
"""The newest that Teams shows everywhere."""
_CARD_TEXT = 4000
_STYLES = {"critical": "attention", "warning": "warning", "info": "accent"}
_SIGNS = {"critical": ":red_circle:", "warning": ":large_yellow_circle:", "info": ":blue_circle:"}
_GOOD = ":large_green_circle:"


# Slack


def slack(to: SlackTo, message: Bulletin, ref: str) -> Parcel:
    """`ref`: the channel and time of the message that it takes the place of."""
    title = cut(message.title, SLACK_HEADER)
    body: dict[str, Any] = {"text": _escaped(title), "blocks": _blocks(message, title)}
    if not to.token_file:
        return in_json(body)
    body["unfurl_links"] = False
    channel, _, at = ref.partition(" ")
    if at:
        return in_json({**body, "channel": channel, "ts": at}, path="/chat.update")
    return in_json({**body, "channel": to.channel}, path="/chat.postMessage")


def _blocks(message: Bulletin, title: str) -> list[dict[str, Any]]:
    sign = _GOOD if message.state is not State.OPEN else _SIGNS[message.news.severity]
    lines = "\n".join(f"• {line}" for line in message.lines)
    text = f"{sign} {_escaped(message.summary)}"
    blocks: list[dict[str, Any]] = [
        {"type": "header", "text": {"type": "plain_text", "text": title, "emoji": False}},
        {"type": "section", "text": _markdown(text)},
    ]
    if lines:
        blocks.append({"type": "section", "text": _markdown(_escaped(lines))})
    link = f"<{_escaped(message.link)}|Dashboard> · " if message.link else ""
    when = f"since {message.since:%Y-%m-%d %H:%M:%S} UTC"
    small = f"{link}{_escaped(message.notice)} · {message.news} · {when}"
    blocks.append({"type": "context", "elements": [_markdown(small)]})
    return blocks


def _markdown(text: str) -> dict[str, Any]:
    """Verbatim: else Slack makes links and mentions of what looks like them."""
    return {"type": "mrkdwn", "text": cut(text, SLACK_SECTION), "verbatim": True}


def _escaped(text: str) -> str:
    """Nothing in it is a mention or a link."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


class _Posted(msgspec.Struct):
    ok: bool = False
    error: str = ""
    channel: str = ""
    ts: str = ""


_ERROR = re.compile(r"[a-z_]{1,60}")
_REF = re.compile(r"[A-Za-z0-9]{1,30} [0-9.]{1,30}")


def slack_answer(to: SlackTo, body: bytes) -> tuple[str, str]:
    """What a bot's call was answered with: the reference of the message, or what went wrong."""
    if not to.token_file:
        return "", ""
    try:
        posted = msgspec.json.decode(body, type=_Posted)
    except UNREADABLE:
        return "", "an answer that is not Slack's"
    if not posted.ok:
        error = posted.error if _ERROR.fullmatch(posted.error) else "an error without a name"
        return "", error
    ref = f"{posted.channel} {posted.ts}"
    return ref if _REF.fullmatch(ref) else "", ""


# Teams


def teams(_: TeamsTo, message: Bulletin, __: str) -> Parcel:
    style = "good" if message.state is not State.OPEN else _STYLES[message.news.severity]
    facts = [("Notice", message.notice), ("News", message.news.word)]
    facts += [("Cluster", message.cluster)] if message.cluster else []
    facts.append(("Since", f"{message.since:%Y-%m-%d %H:%M:%S} UTC"))
    body: list[dict[str, Any]] = [
        _block(message.title, size="Medium", weight="Bolder", color=style),
        _block(message.summary),
        *(_block(f"- {line}", spacing="None") for line in message.lines),
        {"type": "FactSet", "facts": [{"title": name, "value": text} for name, text in facts]},
    ]
    card: dict[str, Any] = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": CARD_VERSION,
        "body": body,
    }
    if message.link:
        card["actions"] = [{"type": "Action.OpenUrl", "title": "Dashboard", "url": message.link}]
    attachment = {"contentType": CARD, "contentUrl": None, "content": card}
    return in_json({"type": "message", "attachments": [attachment]})


def _block(text: str, **more: str) -> dict[str, Any]:
    """Nothing in it is a link of Markdown."""
    plain = cut(_plain(text).replace("](", "] ("), _CARD_TEXT)
    return {"type": "TextBlock", "text": plain, "wrap": True, **more}


# Google Chat


def googlechat(_: GoogleChatTo, message: Bulletin, __: str) -> Parcel:
    """Later messages of an incident go to the thread of the first."""
    lines = [f"*{_plain(message.title)}*", _plain(message.summary)]
    lines += [f"• {_plain(line)}" for line in message.lines]
    if message.link:
        lines.append(message.link)
    body = {"text": cut("\n".join(lines), GOOGLE_TEXT), "thread": {"threadKey": message.thread}}
    return in_json(body, path="?messageReplyOption=REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD")


def _plain(text: str) -> str:
    """Nothing in it is a mention or a link: those are written `<users/all>`."""
    return text.replace("<", "(").replace(">", ")")
