"""Every fault of the fault proxy, shown to a plain client in front of the real API server.

Nothing is timed: delays and silences are ended by `clear()` or by closing the port.
"""

import socket
import ssl
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from tests.reroll_dev.faultbench import BROKEN, Bench
from tests.support.faultproxy import FaultProxy
from tests.support.faults import Answer, Cut, Delay, DropResponse, Entry, Match, Silence, WatchError
from tests.support.tools import Tool

from reroll_dev.api import Api, ApiError, path_to
from reroll_dev.cluster import DevCluster

WATCH = Match(watch=True)


@pytest.fixture
def bench(fault_proxy: FaultProxy, namespace: str, api: Api) -> Iterator[Bench]:
    with ExitStack() as things:
        yield Bench(fault_proxy, namespace, api, things)
        fault_proxy.refuse()  # ends what still waits, before its thread is waited for


def name_in(event: dict[str, Any]) -> str:
    name: str = event["object"]["metadata"]["name"]
    return name


def test_without_faults_requests_pass_and_are_logged(bench: Bench) -> None:
    bench.api.create(bench.configmap("a", size=300_000))
    assert len(bench.api.get(f"{bench.path}/a")["data"]["key"]) == 300_000
    assert bench.proxy.log == [
        Entry("POST", bench.path, "passed", "application/json"),
        Entry("GET", f"{bench.path}/a", "passed", "application/json"),
    ]


def test_kubectl_works_through_the_proxy(bench: Bench, kubectl: Tool) -> None:
    bench.make("a")
    said = kubectl("-n", bench.namespace, "get", "cm", "-o", "name", identity=bench.kubeconfig)
    assert "configmap/a\n" in said
    assert bench.proxy.log


def test_any_kubeconfig_can_be_led_through_the_proxy(
    fault_proxy: FaultProxy, kubeconfig_for: Callable[..., Path]
) -> None:
    limited = kubeconfig_for([{"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]}])
    with Api.from_kubeconfig(fault_proxy.kubeconfig(limited)) as through:
        assert through.list(path_to("Node"))
        with pytest.raises(ApiError, match="cannot list resource"):
            through.list(path_to("Secret"))


def test_a_client_with_a_certificate_is_itself_behind_the_proxy(
    cluster: DevCluster, fault_proxy: FaultProxy
) -> None:
    user = f"user-{uuid.uuid4().hex[:8]}"
    cluster.add_identity(user)
    with Api.from_kubeconfig(fault_proxy.kubeconfig(user)) as api:
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        answer = api.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", review)
    assert answer["status"]["userInfo"]["username"] == user


@pytest.mark.parametrize("how", ["rst", "fin"])
def test_a_cut_after_some_bytes_lets_exactly_these_through(bench: Bench, how: Any) -> None:
    bench.proxy.inject(Cut(after_bytes=100, how=how), WATCH)
    watch = bench.watch()
    bench.make("a")
    assert len(watch.rest()) == 100
    assert bench.done() == ["passed", "Cut"]


@pytest.mark.parametrize(("how", "expected"), [("rst", "reset"), ("fin", "closed")])
def test_a_cut_is_a_reset_or_a_polite_end_as_asked(bench: Bench, how: Any, expected: str) -> None:
    watch = bench.watch()
    bench.proxy.inject(Cut(after_bytes=0, how=how), WATCH)
    assert watch.end_of_tcp() == expected


def test_a_cut_concerns_plain_answers_too(bench: Bench) -> None:
    bench.api.create(bench.configmap("a", size=50_000))
    bench.proxy.inject(Cut(after_bytes=20_000), Match(method="GET"))
    with pytest.raises(BROKEN):
        bench.api.get(f"{bench.path}/a")
    assert bench.api.get(f"{bench.path}/a")["data"]


def test_a_cut_in_an_event_breaks_its_line_and_the_next_watch_is_whole(bench: Bench) -> None:
    bench.proxy.inject(Cut(in_event=2), WATCH)
    watch = bench.watch()
    bench.make("a")
    bench.make("b")
    assert name_in(watch.event()) == "a"
    half = watch.rest()
    assert half.startswith(b'{"type":"ADDED"')
    assert not half.endswith(b"\n")
    assert bench.done() == ["passed", "Cut"]
    bench.make("c")
    again = bench.watch()
    bench.make("d")
    assert name_in(again.event()) == "d"


def test_a_cut_strikes_an_idle_watch_at_once(bench: Bench) -> None:
    watch = bench.watch()
    bench.proxy.inject(Cut(after_bytes=0), WATCH)
    assert watch.rest() == b""
    assert bench.done() == ["passed", "Cut"]


def test_a_delay_holds_up_the_answer_and_not_the_deed(bench: Bench) -> None:
    bench.proxy.inject(Delay(3600))
    answer = bench.meanwhile(lambda: bench.api.create(bench.configmap("a")))
    bench.proxy.wait_for("Delay")
    assert bench.exists("a")
    assert not answer.done()
    bench.proxy.clear()
    assert answer.result(30)["metadata"]["name"] == "a"


def test_a_short_delay_ends_by_itself(bench: Bench) -> None:
    bench.proxy.inject(Delay(0.01), times=None)
    bench.api.create(bench.configmap("a"))
    assert bench.done() == ["passed", "Delay"]


def test_a_delay_of_each_chunk_holds_up_events_and_loses_none(bench: Bench) -> None:
    watch = bench.watch()
    bench.proxy.inject(Delay(3600, each_chunk=True), WATCH)
    event = bench.meanwhile(watch.event)
    other = bench.watch()
    bench.make("a")
    bench.make("b")
    assert [name_in(other.event()) for _ in range(2)] == ["a", "b"]
    assert not event.done()
    bench.proxy.clear()
    assert name_in(event.result(30)) == "a"
    assert name_in(watch.event()) == "b"


@pytest.mark.parametrize(
    ("status", "reason"),
    [(410, "Expired"), (429, "TooManyRequests"), (500, "InternalError"), (403, "Forbidden")],
)
def test_an_answer_is_a_proper_status_and_the_server_sees_nothing(
    bench: Bench, status: int, reason: str
) -> None:
    bench.proxy.inject(Answer(status), Match(method="POST"))
    with pytest.raises(ApiError) as refused:
        bench.api.create(bench.configmap("a"))
    assert (refused.value.status, refused.value.reason) == (status, reason)
    assert not bench.exists("a")
    assert bench.done() == ["Answer"]
    bench.api.create(bench.configmap("a"))


async def test_a_retry_after_stands_in_header_and_body_and_an_async_client_sees_it(
    bench: Bench, cluster: DevCluster
) -> None:
    bench.proxy.inject(Answer(429, retry_after=7))
    context = ssl.create_default_context(cafile=cluster.layout.ca)
    async with aiohttp.ClientSession() as session:
        async with session.get(f"{bench.proxy.url}/readyz", ssl=context) as answer:
            assert answer.status == 429
            assert answer.headers["Retry-After"] == "7"
            assert (await answer.json())["details"] == {"retryAfterSeconds": 7}
        async with session.get(f"{bench.proxy.url}/readyz", ssl=context) as answer:
            assert await answer.text() == "ok"


def test_an_error_event_comes_in_a_running_watch_and_ends_it_well(bench: Bench) -> None:
    watch = bench.watch()
    bench.make("a")
    assert name_in(watch.event()) == "a"
    bench.proxy.inject(WatchError(410))
    event = watch.event()
    assert event["type"] == "ERROR"
    assert (event["object"]["code"], event["object"]["reason"]) == (410, "Expired")
    assert watch.ends_well()
    assert bench.done() == ["passed", "WatchError"]


def test_an_error_event_comes_after_as_many_events_as_asked(bench: Bench) -> None:
    bench.proxy.inject(WatchError(500, after_events=1))
    watch = bench.watch()
    bench.make("a")
    assert name_in(watch.event()) == "a"
    assert watch.event()["object"]["code"] == 500


def test_a_silent_watch_stays_open_swallows_and_is_never_heard_again(bench: Bench) -> None:
    watch = bench.watch()
    bench.proxy.inject(Silence())
    bench.proxy.wait_for("Silence")
    other = bench.watch()
    bench.make("a")
    assert name_in(other.event()) == "a"
    bench.proxy.clear()
    bench.make("b")
    assert name_in(other.event()) == "b"
    bench.proxy.refuse()
    assert watch.rest() == b""


def test_a_silent_watch_that_holds_goes_on_in_order_when_cleared(bench: Bench) -> None:
    watch = bench.watch()
    bench.proxy.inject(Silence(hold=True, after_events=1), WATCH)
    other = bench.watch()
    for name in ("a", "b", "c"):
        bench.make(name)
    assert name_in(watch.event()) == "a"
    event = bench.meanwhile(watch.event)
    assert [name_in(other.event()) for _ in range(3)] == ["a", "b", "c"]
    assert not event.done()
    bench.proxy.clear()
    bench.make("d")
    assert name_in(event.result(30)) == "b"
    assert [name_in(watch.event()) for _ in range(2)] == ["c", "d"]
    assert bench.done() == ["passed", "passed", "Silence"]


def test_silence_withholds_a_plain_answer_whole(bench: Bench) -> None:
    bench.proxy.inject(Silence(hold=True), Match(method="POST"))
    answer = bench.meanwhile(lambda: bench.api.create(bench.configmap("a")))
    bench.proxy.wait_for("Silence")
    assert bench.exists("a")
    assert not answer.done()
    bench.proxy.clear()
    assert answer.result(30)["metadata"]["name"] == "a"


@pytest.mark.parametrize("fault", [Silence(), Delay(3600)])
def test_not_even_the_head_of_a_plain_answer_comes_early(bench: Bench, fault: Any) -> None:
    bench.proxy.inject(fault)
    head = bench.head()
    bench.proxy.wait_for(type(fault).__name__)
    bench.proxy.refuse()
    with pytest.raises(BROKEN):
        head.result(30)


def test_refused_connections_come_back_on_the_same_port(bench: Bench) -> None:
    watch = bench.watch()
    bench.proxy.refuse()
    assert watch.rest() == b""
    with pytest.raises(ConnectionRefusedError):
        bench.watch()
    with socket.socket() as taker, pytest.raises(OSError, match="in use"):
        taker.bind(("127.0.0.1", int(bench.proxy.url.rsplit(":", 1)[1])))
    bench.proxy.accept()
    again = bench.watch()
    bench.make("a")
    assert name_in(again.event()) == "a"


@pytest.mark.parametrize("how", ["rst", "fin"])
def test_a_dropped_response_leaves_the_deed_done_and_the_client_in_doubt(
    bench: Bench, how: Any
) -> None:
    bench.proxy.inject(DropResponse(how), Match(method="POST", path="/configmaps$"))
    with pytest.raises(BROKEN):
        bench.api.create(bench.configmap("a"))
    assert bench.exists("a")
    assert bench.done() == ["passed", "DropResponse"]
    assert bench.api.get(f"{bench.path}/a")["metadata"]["name"] == "a"


def test_a_fault_strikes_as_often_as_asked_or_until_cleared(bench: Bench) -> None:
    bench.proxy.inject(Answer(500), times=2)
    bench.proxy.inject(Answer(429), times=None)
    seen = []
    for _ in range(4):
        with pytest.raises(ApiError) as refused:
            bench.api.get("/readyz")
        seen.append(refused.value.status)
    bench.proxy.clear()
    assert bench.api.get("/readyz") == {"text": "ok"}
    assert seen == [500, 500, 429, 429]


def test_a_fault_leaves_alone_what_does_not_match(bench: Bench) -> None:
    bench.proxy.inject(Answer(500), Match(method="POST", path="/secrets$"), times=None)
    bench.proxy.inject(Cut(after_bytes=0), Match(path="/secrets$"), times=None)
    bench.proxy.inject(DropResponse(), WATCH, times=None)
    watch = bench.watch()
    bench.api.create(bench.configmap("a"))
    assert name_in(watch.event()) == "a"
    assert set(bench.done()) == {"passed"}
