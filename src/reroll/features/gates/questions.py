"""One question to a gate: the request, and what its answer comes to."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

import msgspec

from reroll.core.model.gates import (
    Alerts,
    Analysis,
    Gate,
    Matcher,
    Measured,
    Query,
    Server,
    Webhook,
)
from reroll.core.model.key import Key
from reroll.core.observe import gate_answers
from reroll.core.observe.gate_answers import unknown
from reroll.core.policy.gate_rows import VARIABLE
from reroll.core.tables.limits import GATE_ANSWER
from reroll.engine.gates import GateId
from reroll.http.errors import HttpError
from reroll.http.fetch import Answer, Outgoing, Route, send

_FORM = ("Content-Type", "application/x-www-form-urlencoded")
_JSON = ("Content-Type", "application/json")
FIRING = Matcher("alertstate", "=", "firing")
_LONGEST_TOKEN = 64 * 1024
_BEARER = "Bearer "
_PART = 16
"""Characters of a token by which it is known again where it was cut."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as it is sent."""

    method: str
    path: str
    header: tuple[str, str] | None = None
    body: bytes | None = field(default=None, repr=False)


async def measure(gate: Gate, one: GateId, env: Mapping[str, str]) -> Measured:
    """Ask, and say what came of it; whatever goes wrong is unknown, and a sentence."""
    server = _server(gate)
    try:
        token = _token(server)
        asked = question(gate, one)
        headers = (asked.header,) if asked.header else ()
        request = Outgoing(
            asked.method, server.url.rstrip("/") + asked.path, (*headers, *token), asked.body
        )
        route = Route(
            env,
            Path(server.ca_file) if server.ca_file else None,
            gate.timeout.total_seconds(),
            GATE_ANSWER.number,
        )
        answer = await send(request, route)
    except (HttpError, ValueError) as problem:
        return unknown(str(problem))
    return _untold(_measured(gate, answer), token)


def _measured(gate: Gate, answer: Answer) -> Measured:
    if isinstance(gate.question, Webhook):
        return gate_answers.of_webhook(answer.status)
    if not answer.is_whole:
        return unknown(f"its answer is larger than {GATE_ANSWER.number} bytes")
    if isinstance(gate.question, Query):
        return gate_answers.of_query(gate.question, answer.status, answer.body)
    is_alertmanager = isinstance(gate.question, Alerts) and gate.question.is_alertmanager
    return gate_answers.of_alerts(answer.status, answer.body, is_alertmanager=is_alertmanager)


def _untold(found: Measured, token: tuple[tuple[str, str], ...]) -> Measured:
    """Without the words of a server that repeats the token that it was sent."""
    if any(value.removeprefix(_BEARER)[:_PART] in found.why for _, value in token):
        why = "its answer repeats the token that it was sent"
        return msgspec.structs.replace(found, why=why)
    return found


def question(gate: Gate, one: GateId) -> Asked:
    """What is asked for one workload, or for all of a namespace. Pure."""
    match gate.question:
        case Alerts(matchers=matchers, is_alertmanager=True):
            pairs = [("filter", str(_filled(matcher, one))) for matcher in matchers]
            active = [("active", "true"), ("silenced", "false"), ("inhibited", "false")]
            return Asked("GET", f"/api/v2/alerts?{urlencode([*active, *pairs])}")
        case Alerts(matchers=matchers):
            told = ",".join(str(_filled(matcher, one)) for matcher in (FIRING, *matchers))
            return _query(f"ALERTS{{{told}}}", gate)
        case Query(text=text):
            return _query(named(text, one), gate)
        case Webhook(metadata=metadata):
            key = one.workload or Key("", one.namespace, "")
            document = {
                "name": key.name,
                "namespace": key.namespace,
                "phase": str(one.phase or ""),
                "metadata": {**metadata, "kind": key.kind},
            }
            return Asked("POST", "", _JSON, msgspec.json.encode(document))
        case Analysis():
            raise TypeError(_NO_REQUEST)


def _server(gate: Gate) -> Server:
    if isinstance(gate.question, Analysis):
        raise TypeError(_NO_REQUEST)
    return gate.question.server


_NO_REQUEST = "an AnalysisRun is no request, see `features.gates.analyses`"


def _query(text: str, gate: Gate) -> Asked:
    """A Thanos that knows only a part says so with an error, and not with that part."""
    seconds = f"{gate.timeout.total_seconds():g}s"
    form = {"query": text, "timeout": seconds, "partial_response": "false"}
    return Asked("POST", "/api/v1/query", _FORM, urlencode(form).encode())


def _filled(matcher: Matcher, one: GateId) -> Matcher:
    return matcher._replace(value=named(matcher.value, one))


def named(text: str, one: GateId) -> str:
    """With the names of the workload, which the API server lets be words of letters and digits."""
    key = one.workload
    values = {
        "namespace": one.namespace,
        "workload": key.name if key else "",
        "kind": key.api_kind if key else "",
    }
    return VARIABLE.sub(lambda found: values[found[1]], text)


def _token(server: Server) -> tuple[tuple[str, str], ...]:
    if not server.token_file:
        return ()
    try:
        with Path(server.token_file).open(encoding="utf-8") as file:
            token = file.read(_LONGEST_TOKEN).strip()
    except (OSError, UnicodeDecodeError) as problem:
        why = problem.strerror if isinstance(problem, OSError) else "it is not text"
        raise ValueError(f"its token-file {server.token_file} cannot be read: {why}") from None
    if not token or not token.isascii() or not token.isprintable():
        raise ValueError(f"its token-file {server.token_file} holds no token")
    return (("Authorization", f"{_BEARER}{token}"),)
