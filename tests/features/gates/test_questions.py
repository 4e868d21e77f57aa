"""Questions to gates: what is sent, and what becomes of servers that misbehave."""

import asyncio
import json
import ssl
from datetime import timedelta
from pathlib import Path
from urllib.parse import parse_qs, parse_qsl

import msgspec
import pytest
from tests.http.test_client_side import Endless
from tests.kube.servers import Server

from reroll.core.model.gates import Alerts, Answer, Gate, Matcher, Phase, Query, Webhook
from reroll.core.model.gates import Server as At
from reroll.core.model.key import Key
from reroll.core.tables.limits import GATE_ANSWER
from reroll.engine.gates import GateId
from reroll.features.gates.questions import measure, question
from reroll_dev import pki

WEB = GateId("g", "shop", Key("Deployment", "shop", "web"), Phase.WAITING)
CRITICAL = (Matcher("severity", "=", "critical"), Matcher("namespace", "=~", "$namespace"))
SHORT = timedelta(milliseconds=300)
SECRET = "s3cr3t"


def asking(url: str, **more: str) -> Gate:
    return Gate("g", Query(At(url, **more), "x", most=1), timeout=timedelta(seconds=30))


# What is sent


def test_alerts_are_asked_of_a_prometheus_by_the_series_that_it_keeps_of_them() -> None:
    asked = question(Gate("g", Alerts(At("http://x"), CRITICAL)), WEB)
    form = parse_qs((asked.body or b"").decode())
    assert (asked.method, asked.path) == ("POST", "/api/v1/query")
    assert form["query"] == ['ALERTS{alertstate="firing",severity="critical",namespace=~"shop"}']
    assert form["timeout"] == ["10s"]


def test_alerts_are_asked_of_an_alertmanager_without_those_that_are_silenced() -> None:
    asked = question(Gate("g", Alerts(At("http://x"), CRITICAL, is_alertmanager=True)), WEB)
    path, _, query = asked.path.partition("?")
    assert (asked.method, path, asked.body) == ("GET", "/api/v2/alerts", None)
    assert parse_qsl(query) == [
        ("active", "true"), ("silenced", "false"), ("inhibited", "false"),
        ("filter", 'severity="critical"'), ("filter", 'namespace=~"shop"'),
    ]  # fmt: skip


def test_a_query_names_the_workload() -> None:
    text = 'a{n="$namespace",w="$workload",k="$kind",r=~"$namespaces$"}'
    asked = question(Gate("g", Query(At("http://x"), text, most=1)), WEB)
    form = parse_qs((asked.body or b"").decode())
    assert form["query"] == ['a{n="shop",w="web",k="Deployment",r=~"$namespaces$"}']


def test_a_webhook_gets_what_flagger_sends() -> None:
    asked = question(Gate("g", Webhook(At("http://x"), {"team": "a"})), WEB)
    assert (asked.method, asked.path) == ("POST", "")
    assert json.loads(asked.body or b"") == {
        "name": "web",
        "namespace": "shop",
        "phase": "Waiting",
        "metadata": {"team": "a", "kind": "Deployment"},
    }


# What comes back


class Saying(Server):
    def __init__(self, status: str, body: bytes) -> None:
        self.answer = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
        self.heads: list[str] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.write(self.answer)
        await writer.drain()


FINE = b'{"status":"success","data":{"resultType":"vector","result":[{"value":[1,"0"]}]}}'


async def test_a_token_is_read_from_its_file_each_time(tmp_path: Path) -> None:
    token = tmp_path / "token"
    async with Saying("200 OK", FINE) as server:
        gate = asking(f"{server.url}/base/", token_file=str(token))
        missing = await measure(gate, WEB, {})
        for each in ("first", f"{SECRET}\n"):
            token.write_text(each)
            assert (await measure(gate, WEB, {})).answer is Answer.OPEN
    assert missing.answer is Answer.UNKNOWN
    assert missing.why == f"its token-file {token} cannot be read: No such file or directory"
    assert ["first" in server.heads[0], f"Bearer {SECRET}\r\n" in server.heads[1]] == [True] * 2
    assert server.heads[0].startswith("POST /base/api/v1/query HTTP/1.1\r\n")


ECHO = b'{"status":"error","error":"cannot parse header Bearer %s"}'


@pytest.mark.parametrize("length", [1, 10], ids=["whole", "cut"])
async def test_a_server_that_repeats_the_token_is_not_quoted(tmp_path: Path, length: int) -> None:
    token = tmp_path / "token"
    token.write_text(f"0123456789-{SECRET}-{SECRET}" * length)
    async with Saying("400 Bad Request", ECHO % token.read_bytes()) as server:
        found = await measure(asking(server.url, token_file=str(token)), WEB, {})
        told = await measure(asking(server.url), WEB, {})
    assert found.answer is Answer.UNKNOWN
    assert found.why == "its answer repeats the token that it was sent"
    assert "cannot parse header" in told.why


@pytest.mark.parametrize("held", [b"", b"\n", b"two\nlines", b"\xff"])
async def test_what_is_no_token_is_not_sent_and_not_told(tmp_path: Path, held: bytes) -> None:
    token = tmp_path / "token"
    token.write_bytes(held)
    found = await measure(asking("http://127.0.0.1:1", token_file=str(token)), WEB, {})
    assert found.answer is Answer.UNKNOWN
    assert "token-file" in found.why
    assert "two" not in found.why


async def test_the_row_says_whom_to_trust_and_the_environment_which_way_to_go(
    tmp_path: Path,
) -> None:
    authority = pki.new_authority()
    pair = pki.server_certificate(authority)
    (tmp_path / "ca.crt").write_bytes(authority.certificate)
    (tmp_path / "shown.pem").write_bytes(pair.certificate + pair.key)
    async with Saying("200 OK", FINE) as server:
        far = await measure(asking("http://far.example:9090"), WEB, {"HTTP_PROXY": server.url})
    assert far.answer is Answer.OPEN
    assert server.heads[0].startswith("POST http://far.example:9090/api/v1/query HTTP/1.1\r\n")

    secured = Saying("200 OK", FINE)
    secured.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    secured.tls.load_cert_chain(tmp_path / "shown.pem")
    async with secured:
        doubted = await measure(asking(secured.url), WEB, {})
        trusted = await measure(asking(secured.url, ca_file=str(tmp_path / "ca.crt")), WEB, {})
    assert (doubted.answer, trusted.answer) == (Answer.UNKNOWN, Answer.OPEN)
    assert "is not trusted" in doubted.why


async def test_an_authority_that_cannot_be_read_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    for file, why in (("none", "No such file"), ("empty", "")):
        gate = asking("https://127.0.0.1:1", ca_file=str(tmp_path / file))
        found = await measure(gate, WEB, {})
        assert found.answer is Answer.UNKNOWN
        assert str(tmp_path / file) in found.why
        assert why in found.why


class Slow(Server):
    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()


class Trickling(Server):
    """A byte now and then, for ever."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        while True:
            writer.write(b" ")
            await writer.drain()
            await asyncio.sleep(0.01)


class Cut(Server):
    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + FINE)
        await writer.drain()


NO_DATA = b'{"status":"success","data":{"resultType":"vector","result":[]}}'
BAD = {
    "no data": (Saying("200 OK", NO_DATA), "there is no value"),
    "NaN": (Saying("200 OK", FINE.replace(b'"0"', b'"NaN"')), "a value is NaN"),
    "slow": (Slow(), "no answer from 127.0.0.1:{port} within 0.3 s"),
    "trickling": (Trickling(), "no answer from 127.0.0.1:{port} within 0.3 s"),
    "cut": (Cut(), "the answer was cut short"),
    "garbage": (Saying("200 OK", b"\x00" * 100), "its answer is not that of a Prometheus"),
    "no HTTP": (Saying("nonsense", b""), "the answer is not HTTP"),
    "huge": (Endless(), f"its answer is larger than {GATE_ANSWER.number} bytes"),
    "401": (Saying("401 Unauthorized", SECRET.encode()), "it answered 401"),
    "500": (Saying("500 Error", b"panic"), "it answered 500"),
    "a redirect": (Saying("302 Found", b""), "it answered 302"),
}


@pytest.mark.parametrize(("server", "why"), BAD.values(), ids=BAD)
async def test_a_server_that_misbehaves_is_unknown_and_a_sentence(server: Server, why: str) -> None:
    async with server:
        gate = asking(f"{server.url}/{SECRET}")
        if isinstance(server, Slow | Trickling):
            gate = msgspec.structs.replace(gate, timeout=SHORT)
        found = await measure(gate, WEB, {})
    assert (found.answer, found.is_failure) == (Answer.UNKNOWN, False)
    assert why.format(port=server.port) in found.why
    assert SECRET not in found.why


async def test_nobody_there_is_unknown() -> None:
    async with Slow() as server:
        url = server.url
    found = await measure(asking(url), WEB, {})
    assert found.answer is Answer.UNKNOWN
    assert found.why.endswith("refused")


async def test_a_webhook_may_answer_at_length() -> None:
    async with Saying("200 OK", b"x" * (GATE_ANSWER.number + 1)) as server:
        found = await measure(Gate("g", Webhook(At(server.url))), WEB, {})
    assert found.answer is Answer.OPEN
