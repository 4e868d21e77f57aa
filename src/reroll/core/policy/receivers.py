"""What each receiver of notices needs: the fields below `to:` of a row. Pure.

Secrets are read from files, and an address that is one (of a chat's webhook) is too.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

import msgspec

from reroll.core.tables.custom_rows import Help

PLACEHOLDERS = (
    "title", "text", "news", "state", "severity", "sources", "change", "count", "workloads",
    "since", "time", "id", "notice", "cluster", "link",
)  # fmt: skip
"""What a template may name, see `features.notices.bulletin.values`."""
PLACEHOLDER = re.compile(r"\$\{([^{}]*)\}")
URL = re.compile(r"https?://[^\s/@?#]+(?:[/?#]\S*)?")
_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_ADDRESS = re.compile(r"[^\s@<>,;:\"]+@[^\s@<>,;:\"]+")
_CA = Help("file with the authorities to trust; without it, those that the system trusts")


class SlackTo(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """With a bot's token the first message is updated; a webhook cannot do that."""

    webhook_file: Annotated[str, Help("file with the URL of an incoming webhook")] = ""
    token_file: Annotated[str, Help("or file with the token of a bot that may `chat:write`")] = ""
    channel: Annotated[str, Help("with a token: the channel's id")] = ""
    api: Annotated[str, Help("with a token: where Slack's API is")] = "https://slack.com/api"
    ca_file: Annotated[str, _CA] = ""


class TeamsTo(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """A flow of Workflows that posts an Adaptive Card."""

    webhook_file: Annotated[str, Help("file with the URL of the flow's trigger")]
    ca_file: Annotated[str, _CA] = ""


class GoogleChatTo(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    webhook_file: Annotated[str, Help("file with the URL of the space's webhook")]
    ca_file: Annotated[str, _CA] = ""


class WebhookTo(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    url: Annotated[str, Help("where it is posted")] = ""
    url_file: Annotated[str, Help("or file with that URL")] = ""
    token_file: Annotated[str, Help("file with a bearer token")] = ""
    secret_file: Annotated[
        str, Help("file with the key of the header `X-Signature: sha256=…`, an HMAC of the body")
    ] = ""
    template: Annotated[
        Any, Help("the body: text, or a map that becomes JSON; texts in it may name `${title}`")
    ] = None
    ca_file: Annotated[str, _CA] = ""


class CloudEventsTo(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    url: Annotated[str, Help("where events are posted")] = ""
    url_file: Annotated[str, Help("or file with that URL")] = ""
    token_file: Annotated[str, Help("file with a bearer token")] = ""
    mode: Annotated[
        Literal["structured", "binary"], Help("attributes in the body, or as headers")
    ] = "structured"
    source: Annotated[str, Help("the attribute `source` of each event")] = "https://reroll.dev/"
    ca_file: Annotated[str, _CA] = ""


class AlertmanagerTo(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    url: Annotated[str, Help("of Alertmanager, without `/api/v2/alerts`")]
    token_file: Annotated[str, Help("file with a bearer token")] = ""
    labels: Annotated[dict[str, str], Help("added to every alert")] = {}
    ca_file: Annotated[str, _CA] = ""


class EmailTo(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    host: Annotated[str, Help("of the mail server")]
    sender: Annotated[str, Help("the address that it is from")]
    recipients: Annotated[list[str], Help("the addresses that it goes to")]
    port: Annotated[int, msgspec.Meta(ge=1, le=65535), Help("of the mail server")] = 587
    tls: Annotated[
        Literal["starttls", "implicit", "none"],
        Help("`implicit`: from the first byte, usually on port 465; `none`: no TLS, no password"),
    ] = "starttls"
    user: Annotated[str, Help("who logs in")] = ""
    password_file: Annotated[str, Help("file with the password")] = ""
    ca_file: Annotated[str, _CA] = ""


RECEIVERS: dict[str, type[msgspec.Struct]] = {
    "slack": SlackTo,
    "teams": TeamsTo,
    "googlechat": GoogleChatTo,
    "webhook": WebhookTo,
    "cloudevents": CloudEventsTo,
    "alertmanager": AlertmanagerTo,
    "email": EmailTo,
}


def flaws(to: msgspec.Struct) -> Iterator[str]:
    """What is wrong with a receiver, each as what follows its name."""
    match to:
        case SlackTo():
            yield from _slack(to)
        case WebhookTo() | CloudEventsTo():
            yield from _one_of("url", "url-file", to.url, to.url_file)
            if isinstance(to, WebhookTo):
                yield from _template(to.template)
        case EmailTo():
            yield from _email(to)
        case AlertmanagerTo():
            for name in to.labels:
                if not _LABEL.fullmatch(name):
                    yield f"labels: {name[:80]!r} is no name; use letters, digits and underscores"
    for name in ("url", "api", "source"):
        given = getattr(to, name, "")
        if given and not URL.fullmatch(given):
            yield f"{name}: is no http:// or https:// URL without a user in it; correct it"
    for name in (one.name for one in msgspec.structs.fields(to) if one.name.endswith("_file")):
        if (given := getattr(to, name)) and not given.startswith("/"):
            yield f"{name.replace('_', '-')}: {given[:80]!r} is no absolute path; begin it with a /"


def _slack(to: SlackTo) -> Iterator[str]:
    yield from _one_of("webhook-file", "token-file", to.webhook_file, to.token_file)
    if to.token_file and not to.channel:
        yield "channel is missing; a bot's token needs the id of a channel"
    if to.webhook_file and to.channel:
        yield "channel: a webhook has its own channel; leave it out, or use a bot's token"


def _one_of(name: str, other: str, *given: str) -> Iterator[str]:
    if sum(map(bool, given)) != 1:
        yield f"give either {name} or {other}"


def _email(to: EmailTo) -> Iterator[str]:
    for address in (to.sender, *to.recipients):
        if not _ADDRESS.fullmatch(address):
            yield f"{address[:80]!r} is no mail address; write e.g. ops@example.com"
    if not to.recipients:
        yield "recipients: there is none; write e.g. [ops@example.com]"
    if bool(to.user) != bool(to.password_file):
        yield "give both user and password-file, or neither"
    if to.user and to.tls == "none":
        yield "a password is not sent without TLS; use `tls: starttls`"


def _template(given: Any) -> Iterator[str]:
    if given is not None and not isinstance(given, str | Mapping | list):
        yield 'template: is neither text nor a map; write e.g. {summary: "${title}"}'
    for name in sorted(set(_named(given)) - set(PLACEHOLDERS)):
        yield f"template: there is no ${{{name[:40]}}}; use one of {', '.join(PLACEHOLDERS)}"


def _named(given: Any) -> Iterator[str]:
    if isinstance(given, str):
        yield from PLACEHOLDER.findall(given)
    elif isinstance(given, Mapping):
        for value in given.values():
            yield from _named(value)
    elif isinstance(given, list):
        for value in given:
            yield from _named(value)
