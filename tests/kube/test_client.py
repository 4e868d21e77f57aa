"""The sockets: what goes out, what comes back, and every way in which it does not."""

import asyncio
import asyncio.sslproto
import json
import subprocess
import sys

import pytest
from tests.kube.follow import CONFIGMAPS, SECRETS, connect, eventually
from tests.kube.servers import Server, server_tls
from tests.support.faults import Answer, Cut, Delay, DropResponse, Match, Silence

from reroll import __version__
from reroll.clock import SystemClock
from reroll.kube import auth, errors, wire
from reroll.kube.client import TLS_BUFFER, Client
from reroll.kube.credentials import Credential, Fixed
from reroll.kube.tls import Contexts, Tls

LONG_TIME = 30


class Listener(Server):
    """Writes down what it was asked, and answers what it is told to."""

    def __init__(self, answer=b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"):
        self.answer = answer
        self.heads = []
        self.busy = self.most_busy = 0
        self.release = asyncio.Event()
        self.release.set()

    def client(self, **more):
        contexts = Contexts(Tls(insecure=True), SystemClock()) if self.tls else None
        return Client(auth.Connection(auth.Route(self.url), Fixed(Credential()), contexts), **more)

    async def serve(self, reader, writer):
        while True:
            self.heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
            self.busy += 1
            self.most_busy = max(self.most_busy, self.busy)
            await self.release.wait()
            self.busy -= 1
            writer.write(self.answer)
            await writer.drain()


class DeafListener(Listener):
    """Once it has answered, it never again reads what the client says, not even in TLS."""

    def __init__(self, answer):
        super().__init__(answer)
        self.tls = server_tls()

    async def serve(self, reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.transport.pause_reading()
        writer.write(self.answer)
        await asyncio.Event().wait()


# What goes out


async def test_a_request_says_who_we_are_and_asks_for_plain_json():
    async with Listener() as server, server.client() as client:
        await client.send(wire.get(CONFIGMAPS, "shop", "app"))

    head = server.heads[0]
    assert head.startswith("GET /api/v1/namespaces/shop/configmaps/app HTTP/1.1\r\n")
    assert f"User-Agent: reroll/{__version__}\r\n" in head
    assert "Accept: application/json\r\n" in head
    assert "Accept-Encoding: identity\r\n" in head
    assert "Content-Type" not in head


async def test_the_query_goes_out_as_it_was_built():
    async with Listener() as server, server.client() as client:
        await client.send(wire.list_page(CONFIGMAPS, label_selector="a in (b,c),d!=e", limit=5))

    assert server.heads[0].split(" ")[1] == (
        "/api/v1/configmaps?limit=5&labelSelector=a%20in%20%28b%2Cc%29%2Cd%21%3De"
    )


async def test_redirects_are_not_followed():
    async with Listener() as target:
        moved = f"HTTP/1.1 302 Found\r\nLocation: {target.url}/steal\r\nContent-Length: 0\r\n\r\n"
        async with Listener(moved.encode()) as server, server.client() as client:
            with pytest.raises(errors.Rejected) as caught:
                await client.send(wire.list_page(CONFIGMAPS))

        assert caught.value.status == 302
        assert target.heads == []


async def test_no_more_requests_at_once_than_allowed():
    async with Listener() as server, server.client(connections=3) as client:
        server.release.clear()
        async with asyncio.TaskGroup() as group:
            for _ in range(10):
                group.create_task(client.send(wire.list_page(CONFIGMAPS)))
            await eventually(lambda: server.busy == 3)
            server.release.set()

    assert server.most_busy == 3
    assert len(server.heads) == 10


async def test_every_call_is_reported_with_its_answer():
    calls = []
    async with Listener() as server, server.client(on_call=calls.append) as client:
        await client.send(wire.list_page(CONFIGMAPS))
        server.answer = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        with pytest.raises(errors.NotFound):
            await client.send(wire.get(CONFIGMAPS, "shop", "app"))
        server.answer = b"not HTTP\r\n\r\n"
        with pytest.raises(errors.Unavailable):
            await client.send(wire.list_page(CONFIGMAPS))

    told = [(call.request.verb, call.request.resource, call.status) for call in calls]
    assert told == [("list", CONFIGMAPS, 200), ("get", CONFIGMAPS, 404), ("list", CONFIGMAPS, None)]


# What comes back


async def test_an_object_is_made_read_changed_and_deleted(client, namespace):
    new = {"metadata": {"name": "app"}, "data": {"a": "1"}}
    await client.send(wire.create(CONFIGMAPS, namespace, new))
    patch = [
        {"op": "test", "path": "/data/b", "value": None},
        {"op": "add", "path": "/data/b", "value": "2"},
    ]
    await client.send(wire.json_patch(CONFIGMAPS, namespace, "app", patch))
    await client.send(wire.merge_patch(CONFIGMAPS, namespace, "app", {"data": {"a": None}}))
    read = json.loads(await client.send(wire.get(CONFIGMAPS, namespace, "app")))
    await client.send(wire.delete(CONFIGMAPS, namespace, "app", uid=read["metadata"]["uid"]))

    assert read["data"] == {"b": "2"}
    assert {field["manager"] for field in read["metadata"]["managedFields"]} == {"reroll"}
    with pytest.raises(errors.NotFound):
        await client.send(wire.get(CONFIGMAPS, namespace, "app"))


async def test_refusals_have_their_class(client, namespace):
    new = {"metadata": {"name": "app"}, "data": {"a": "b"}}
    await client.send(wire.create(CONFIGMAPS, namespace, new))
    failing_test = [{"op": "test", "path": "/data/a", "value": "c"}]
    stale = {"metadata": {"resourceVersion": "1"}, "data": {"a": "c"}}

    refusals = [
        (wire.create(CONFIGMAPS, namespace, new), errors.AlreadyExists),
        (wire.json_patch(CONFIGMAPS, namespace, "app", failing_test), errors.Invalid),
        (wire.merge_patch(CONFIGMAPS, namespace, "app", stale), errors.Conflict),
        (wire.delete(CONFIGMAPS, namespace, "app", uid="other"), errors.Conflict),
        (wire.create(CONFIGMAPS, namespace, {"metadata": {"name": "Not!"}}), errors.Invalid),
        (wire.list_page(CONFIGMAPS, namespace, continue_="junk"), errors.Rejected),
        (wire.get(wire.Resource("no.such", "v1", "xs", "X"), namespace, "a"), errors.NotFound),
    ]
    for request, kind in refusals:
        with pytest.raises(errors.ApiError) as caught:
            await client.send(request)
        assert type(caught.value) is kind, request


async def test_the_value_of_a_secret_is_in_no_error(client, namespace):
    body = {"metadata": {"name": "Not!"}, "stringData": {"password": "hunter2"}}

    with pytest.raises(errors.Invalid) as caught:
        await client.send(wire.create(SECRETS, namespace, body))
    assert "hunter2" not in str(caught.value) + repr(caught.value.__dict__)


# Trouble


@pytest.fixture
async def shaky(fault_proxy):
    async with connect(fault_proxy.kubeconfig()) as client:
        yield client


def inject(fault_proxy, fault, match):
    return asyncio.to_thread(fault_proxy.inject, fault, match)


async def test_no_answer_in_time_is_unavailable(fault_proxy, shaky):
    await inject(fault_proxy, Silence(), Match(path="configmaps"))

    with pytest.raises(errors.Unavailable, match="did not answer in time") as caught:
        await shaky.send(wire.list_page(CONFIGMAPS), timeout=0.2)
    assert (caught.value.status, caught.value.reason) == (None, "Timeout")


async def test_throttling_is_told_with_how_long_to_wait_and_not_retried(fault_proxy, shaky):
    await inject(fault_proxy, Answer(429, retry_after=7), Match(path="configmaps"))

    with pytest.raises(errors.Throttled) as caught:
        await shaky.send(wire.list_page(CONFIGMAPS))
    assert caught.value.retry_after == 7
    assert len([entry for entry in fault_proxy.log if "configmaps" in entry.path]) == 1


@pytest.mark.parametrize(
    "fault", [DropResponse(), Cut(after_bytes=5)], ids=["no answer", "half an answer"]
)
async def test_a_patch_whose_answer_is_lost_is_unavailable_and_not_sent_twice(
    fault_proxy, shaky, namespace, put, fault
):
    await put("a")
    await inject(fault_proxy, fault, Match(method="PATCH"))

    with pytest.raises(errors.Unavailable):
        await shaky.send(wire.merge_patch(CONFIGMAPS, namespace, "a", {"data": {"key": "2"}}))
    seen_by_server = [e for e in fault_proxy.log if e.method == "PATCH" and e.done == "passed"]
    assert len(seen_by_server) == 1


async def test_a_cancelled_request_is_cancelled(fault_proxy, shaky):
    await inject(fault_proxy, Delay(60), Match(path="configmaps"))
    task = asyncio.create_task(shaky.send(wire.list_page(CONFIGMAPS)))
    await asyncio.to_thread(fault_proxy.wait_for, "Delay")
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_refused_connection_is_a_sentence():
    async with Listener() as server:
        client = server.client()
    async with client:
        with pytest.raises(errors.Unavailable, match=r"cannot connect to 127\.0\.0\.1:"):
            await client.send(wire.list_page(CONFIGMAPS))


# Streams


async def test_lines_come_in_batches_however_they_were_cut():
    pieces = [b"one\ntw", b"o\nthree", b"\nfour\n", b"cut off"]
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
    answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"

    async with (
        Listener(answer) as server,
        server.client() as client,
        client.lines(wire.watch(CONFIGMAPS), read_timeout=LONG_TIME) as batches,
    ):
        lines = [line async for batch in batches for line in batch]

    assert lines == [b"one", b"two", b"three", b"four"]


async def test_a_line_longer_than_any_buffer_comes_whole(client, namespace):
    big = {"metadata": {"name": "big"}, "data": {"key": "x" * 1_000_000}}
    await client.send(wire.create(CONFIGMAPS, namespace, big))

    request = wire.watch(CONFIGMAPS, namespace, send_initial_events=True)
    async with client.lines(request, read_timeout=LONG_TIME) as batches:
        async for batch in batches:
            if any(b'"name":"big"' in line for line in batch):
                break

    assert any(len(line) > 1_000_000 for line in batch)


async def test_a_silent_stream_is_unavailable(fault_proxy, shaky, namespace):
    await inject(fault_proxy, Silence(), Match(watch=True))

    async with shaky.lines(wire.watch(CONFIGMAPS, namespace), read_timeout=0.2) as batches:
        with pytest.raises(errors.Unavailable, match="silent for too long") as caught:
            await anext(batches)
    assert caught.value.reason == errors.SILENCE


async def test_open_streams_do_not_take_the_place_of_requests(cluster, namespace):
    async with connect(cluster.kubeconfig("admin"), connections=1) as client:
        request = wire.watch(CONFIGMAPS, namespace, send_initial_events=True)
        async with (
            client.lines(request, read_timeout=LONG_TIME),
            client.lines(request, read_timeout=LONG_TIME),
        ):
            await asyncio.wait_for(client.send(wire.list_page(CONFIGMAPS)), LONG_TIME)


async def test_a_refused_stream_raises_as_it_is_opened(client, namespace):
    nothing = wire.Resource("no.such", "v1", "xs", "X")

    with pytest.raises(errors.NotFound):
        async with client.lines(wire.watch(nothing, namespace), read_timeout=LONG_TIME):
            pytest.fail("it was opened")


@pytest.mark.parametrize("way", ["a stream", "a request"])
async def test_a_connection_to_a_dead_server_is_dropped_at_once(sockets, way):
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    async with (
        DeafListener(head if way == "a stream" else b"") as server,
        server.client() as client,
    ):
        if way == "a stream":
            async with client.lines(wire.watch(CONFIGMAPS), read_timeout=LONG_TIME):
                pass
        else:
            with pytest.raises(errors.Unavailable):
                await client.send(wire.list_page(CONFIGMAPS), timeout=0.2)
        await asyncio.wait_for(eventually(lambda: sockets() == [-1]), 5)


# Memory


async def test_tls_connections_have_small_buffers(client):
    assert hasattr(asyncio.sslproto.SSLProtocol, "max_size"), "asyncio changed: look for its heir"
    await client.send(wire.list_page(CONFIGMAPS, limit=1))

    ((connection, _),) = client._pool._idle
    assert len(connection.transport._ssl_protocol._ssl_buffer) == TLS_BUFFER


def test_the_client_is_imported_without_what_it_seldom_needs():
    code = "import sys, reroll.kube.watch, reroll.kube.lease; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    seldom = {"yaml", "rich", "argcomplete", "cryptography", "aiohttp", "http.client"}
    assert seldom.isdisjoint(done.stdout.split())
