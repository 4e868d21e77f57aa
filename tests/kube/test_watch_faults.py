"""After every fault a watch comes back to the truth: nothing lost, nothing twice.

The faults are those of a proxy in front of the real API server. While each strikes, objects are
made, changed and deleted behind its back.
"""

import asyncio
from contextlib import AsyncExitStack

import pytest
from tests.kube.follow import QUICK, SECRETS, connect, eventually, following
from tests.support.faults import Answer, Cut, Delay, Match, Silence, WatchError

from reroll.kube import wire
from reroll.kube.steps import DOUBTS, PATIENCE_WITH_STREAMS, Pace

WATCHES = Match(path="configmaps", watch=True)
LISTS = Match(path="configmaps", watch=False)
READ_TIMEOUT = 1.0


@pytest.fixture
async def shaky(fault_proxy):
    """A client whose way to the API server leads through the fault proxy."""
    async with connect(fault_proxy.kubeconfig()) as client:
        yield client


def inject(fault_proxy, fault, match=WATCHES, times=1):
    return asyncio.to_thread(fault_proxy.inject, fault, match, times=times)


def struck(fault_proxy, fault, times=1):
    """The fault was not merely asked for."""
    return asyncio.to_thread(fault_proxy.wait_for, type(fault).__name__, times=times)


async def change_much(put, remove, round_):
    """Everything that can happen: made, changed, changed again, deleted, made anew."""
    value = str(round_)
    await put("stays", value)
    await put(f"new-{round_}", value)
    await put("stays", value + "b")
    await put("comes-and-goes", value)
    await remove("comes-and-goes")
    await remove("goes")
    await put("goes", value)


def truth_after(round_):
    news = {f"new-{number}": str(number) for number in range(1, round_ + 1)}
    return {"stays": f"{round_}b", "goes": str(round_), **news}


FAULTS = {
    "a stream reset in the middle of a line": (Cut(in_event=2), 1),
    "a stream closed in the middle of a line": (Cut(in_event=2, how="fin"), 1),
    "a stream reset after the first line": (Cut(in_event=1), 1),
    "a stream cut after some bytes": (Cut(after_bytes=700), 1),
    "a stream cut again and again": (Cut(in_event=1), 5),
    "a stream that goes silent and swallows": (Silence(), 1),
    "a stream that goes silent after an event": (Silence(after_events=1), 1),
    "a version too old, told in the stream": (WatchError(410), 1),
    "a version too old, told after events": (WatchError(410, after_events=2), 1),
    "a version too old, over and over": (WatchError(410), 4),
    "a server error told in the stream": (WatchError(500), 1),
    "throttling told in the stream": (WatchError(429), 1),
    "slow pieces": (Delay(0.05, each_chunk=True), 1),
}


@pytest.mark.parametrize("streaming", [True, False], ids=["streaming list", "pages"])
@pytest.mark.parametrize(("fault", "times"), FAULTS.values(), ids=FAULTS.keys())
async def test_a_running_stream_recovers_from(
    fault_proxy, shaky, namespace, put, remove, streaming, fault, times
):
    await put("stays")
    await put("goes")
    more = {"streaming": streaming, "read_timeout": READ_TIMEOUT}

    async with following(shaky, namespace, **more) as (seen, watch):
        await asyncio.wait_for(watch.synced.wait(), 30)
        await eventually(lambda: watch.state == "watching")
        await inject(fault_proxy, fault, times=times)
        await change_much(put, remove, 1)
        await seen.until(lambda: seen.values == truth_after(1))
        await struck(fault_proxy, fault)
        await asyncio.to_thread(fault_proxy.clear)
        await change_much(put, remove, 2)
        await seen.until(lambda: seen.values == truth_after(2))
        await eventually(lambda: watch.state == "watching" and watch.problem is None)


ANSWERS = {
    "gone": Answer(410),
    "throttled": Answer(429, retry_after=1),
    "an internal error": Answer(500),
    "unavailable": Answer(503),
    "a gateway timeout": Answer(504),
    "forbidden for a moment": Answer(403),
    "unauthorized for a moment": Answer(401),
    "not found for a moment": Answer(404),
    "a silent connection": Silence(),
    "a cut after some bytes": Cut(after_bytes=10),
}


@pytest.mark.parametrize("streaming", [True, False], ids=["streaming list", "pages"])
@pytest.mark.parametrize("fault", ANSWERS.values(), ids=ANSWERS.keys())
async def test_a_first_list_succeeds_after(fault_proxy, shaky, namespace, put, streaming, fault):
    await put("a")
    await inject(fault_proxy, fault, Match(path="configmaps"), times=2)
    more = {"streaming": streaming, "read_timeout": READ_TIMEOUT}

    async with following(shaky, namespace, **more) as (seen, watch):
        await seen.until(lambda: seen.values == {"a": "1"})
        await struck(fault_proxy, fault, times=2)
        await put("a", "2")
        await seen.until(lambda: seen.values == {"a": "2"})
        await eventually(lambda: watch.state == "watching" and watch.problem is None)


@pytest.mark.parametrize("fault", ANSWERS.values(), ids=ANSWERS.keys())
async def test_a_resumed_watch_succeeds_after(fault_proxy, shaky, namespace, put, remove, fault):
    await put("stays")
    await put("goes")

    async with following(shaky, namespace, read_timeout=READ_TIMEOUT) as (seen, watch):
        await asyncio.wait_for(watch.synced.wait(), 30)
        await inject(fault_proxy, Cut(in_event=2))
        await inject(fault_proxy, fault, times=2)
        await change_much(put, remove, 1)
        await seen.until(lambda: seen.values == truth_after(1))
        await struck(fault_proxy, fault, times=2)
        await eventually(lambda: watch.state == "watching" and watch.problem is None)


@pytest.mark.parametrize("fault", [Answer(410), Answer(503), Answer(429, retry_after=0)])
async def test_a_list_by_pages_survives_in_the_middle(fault_proxy, shaky, namespace, put, fault):
    for number in range(5):
        await put(f"c{number}")
    await inject(fault_proxy, Delay(0), LISTS)  # the first page passes
    await inject(fault_proxy, fault, LISTS)

    async with following(shaky, namespace, streaming=False, page_size=2) as (seen, watch):
        await asyncio.wait_for(watch.synced.wait(), 30)

    assert set(seen.values) == {f"c{number}" for number in range(5)}
    assert seen.lists == 1


async def test_a_server_that_dies_and_comes_back(fault_proxy, shaky, namespace, put, remove):
    await put("stays")
    await put("goes")

    async with following(shaky, namespace) as (seen, watch):
        await asyncio.wait_for(watch.synced.wait(), 30)
        await asyncio.to_thread(fault_proxy.refuse)
        await change_much(put, remove, 1)
        await eventually(lambda: watch.state == "failing")
        assert watch.problem.startswith(f"cannot watch configmaps in namespace {namespace}: ")
        await asyncio.to_thread(fault_proxy.accept)
        await seen.until(lambda: seen.values == truth_after(1))
        await eventually(lambda: watch.state == "watching")

    assert seen.lists == 1


async def test_what_was_deleted_while_the_version_grew_too_old_is_gone(
    fault_proxy, shaky, namespace, put, remove
):
    await put("stays")
    await put("goes")

    async with following(shaky, namespace) as (seen, watch):
        await asyncio.wait_for(watch.synced.wait(), 30)
        await inject(fault_proxy, Silence(hold=True))
        await remove("goes")
        await inject(fault_proxy, Answer(410))
        await asyncio.to_thread(fault_proxy.refuse)
        await asyncio.to_thread(fault_proxy.accept)
        await seen.until(lambda: seen.values == {"stays": "1"})

    assert seen.lists == 2


async def test_streams_that_stay_silent_from_a_version_mean_a_new_list(
    fault_proxy, shaky, namespace, put
):
    await put("a")

    async with following(shaky, namespace, read_timeout=0.3) as (seen, watch):
        await asyncio.wait_for(watch.synced.wait(), 30)
        await eventually(lambda: watch.state == "watching")
        await inject(fault_proxy, Silence(), times=3)
        await seen.until(lambda: seen.lists == 2)
        await asyncio.to_thread(fault_proxy.clear)
        await put("a", "2")
        await seen.until(lambda: seen.values == {"a": "2"})


@pytest.mark.parametrize("status", [400, 422])
async def test_a_server_without_streaming_lists_is_listed_by_pages(
    fault_proxy, shaky, namespace, put, status
):
    await put("a")
    calls = []
    shaky._on_call = lambda call: calls.append(call.request.verb)
    await inject(fault_proxy, Answer(status))

    async with following(shaky, namespace, page_size=1) as (seen, watch):
        await asyncio.wait_for(watch.synced.wait(), 30)
        await inject(fault_proxy, WatchError(410))
        await seen.until(lambda: seen.lists == 2)

    assert calls[:2] == ["watch", "list"]
    assert seen.values == {"a": "1"}


async def test_streaming_lists_that_always_break_are_followed_by_pages(
    fault_proxy, shaky, namespace, put
):
    await put("a")
    await inject(fault_proxy, Cut(after_bytes=10), times=PATIENCE_WITH_STREAMS)

    async with following(shaky, namespace) as (seen, watch):
        await asyncio.wait_for(watch.synced.wait(), 30)
        await put("a", "2")
        await seen.until(lambda: seen.values == {"a": "2"})


async def test_throttling_is_waited_out_as_long_as_the_server_asks(
    fault_proxy, shaky, namespace, put
):
    loop = asyncio.get_running_loop()
    begins = []
    shaky._on_call = lambda call: begins.append(loop.time() - call.seconds)
    await inject(fault_proxy, Answer(429, retry_after=1))

    async with following(shaky, namespace) as (_, watch):
        await asyncio.wait_for(watch.synced.wait(), 30)

    assert begins[1] - begins[0] >= 1


async def test_one_watch_in_trouble_does_not_hold_up_another(
    fault_proxy, shaky, namespace, put, client
):
    await put("a")
    await inject(fault_proxy, Answer(403), Match(path="secrets"), times=None)

    async with (
        following(shaky, namespace, resource=SECRETS) as (_, secrets),
        following(shaky, namespace) as (seen, configmaps),
    ):
        await asyncio.wait_for(configmaps.synced.wait(), 30)
        await asyncio.wait_for(secrets.synced.wait(), 30)
        await put("a", "2")
        await seen.until(lambda: seen.values == {"a": "2"})
        assert (secrets.state, configmaps.state) == ("forbidden", "watching")


async def test_trouble_that_lasts_is_not_hammered(fault_proxy, shaky, namespace):
    calls = []
    shaky._on_call = calls.append
    await inject(fault_proxy, Answer(500), times=None)

    async with following(shaky, namespace) as (_, watch):
        await eventually(lambda: watch.state == "failing")
        await eventually(lambda: watch._now.failures >= 6)
        assert watch._now.backoff == QUICK.longest_backoff


AN_HOUR = Pace(backoff=3600, longest_backoff=3600)


async def test_watches_with_an_hour_to_wait_go_on_when_the_server_is_back(
    fault_proxy, shaky, namespace, put
):
    """Both: the first one to try, and the one that learns of its answer."""
    watching = (following(shaky, namespace, pace=AN_HOUR) for _ in range(2))
    async with AsyncExitStack() as stack:
        both = [await stack.enter_async_context(each) for each in watching]
        await eventually(lambda: all(watch.state == "watching" for _, watch in both))
        await put("first")  # a stream that told something is opened again at once
        for seen, _ in both:
            await seen.until(lambda seen=seen: "first" in seen.known)
        await asyncio.to_thread(fault_proxy.refuse)
        await eventually(lambda: all(watch.state == "failing" for _, watch in both))
        await put("app", "made while it was away")
        await asyncio.to_thread(fault_proxy.accept)

        for seen, watch in both:
            await seen.until(lambda seen=seen: seen.values.get("app") == "made while it was away")
            assert (watch.state, seen.lists) == ("watching", 1)


async def test_a_server_that_refuses_everything_as_it_starts_is_not_believed(
    fault_proxy, shaky, namespace, put
):
    """Until it has read who may do what, which takes it a second or two."""
    pace = Pace(backoff=0.05, longest_backoff=3600, forbidden=3600)
    states = []
    more = {"pace": pace, "on_state": lambda *state: states.append(state[0])}
    async with following(shaky, namespace, **more) as (seen, watch):
        await eventually(lambda: watch.state == "watching")
        await asyncio.to_thread(fault_proxy.refuse)
        await eventually(lambda: watch.state == "failing")
        await inject(fault_proxy, Answer(403), times=DOUBTS)
        await put("app", "made while it was away")
        await asyncio.to_thread(fault_proxy.accept)

        await seen.until(lambda: seen.values == {"app": "made while it was away"})
        await struck(fault_proxy, Answer(403), times=DOUBTS)
    assert "forbidden" not in states


@pytest.mark.parametrize("status", [429, 503])
async def test_a_server_that_answers_with_errors_is_not_away(
    fault_proxy, shaky, namespace, put, status
):
    """Other requests may do well: what was refused waits as long as it has to."""
    async with following(shaky, namespace, pace=AN_HOUR) as (seen, watch):
        await eventually(lambda: watch.state == "watching")
        await put("first")  # a stream that told something is opened again at once
        await seen.until(lambda: "first" in seen.known)
        await inject(fault_proxy, Answer(status), times=None)
        await inject(fault_proxy, Cut(in_event=1))
        await put("app")
        await eventually(lambda: watch.state == "failing")
        for _ in range(3):
            await shaky.send(wire.list_page(SECRETS, namespace))
            await asyncio.sleep(0)

        assert sum(entry.done == "Answer" for entry in fault_proxy.log) == 1
        assert not shaky.outage.is_on
