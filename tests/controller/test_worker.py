"""One key's trouble is a delay for that key: the loop goes on with the others."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from tests.kube.fakes import StillClock

from reroll.clock import SystemClock
from reroll.controller.pace import Backoff
from reroll.controller.queue import Queue
from reroll.controller.worker import AFTER_BUG, Reconcile, Worker, delay_after
from reroll.kube.errors import ApiError, Conflict, Throttled


class Bench:
    """A worker whose items do what `say` was told for their key, once for each look."""

    def __init__(self) -> None:
        self.queue: Queue[str] = Queue(SystemClock())
        self.backoff = Backoff(SystemClock(), first=0.01)
        self.looks: list[str] = []
        self.does: dict[str, list[BaseException | float | None]] = {}

    async def reconcile(self, key: str) -> float | None:
        self.looks.append(key)
        await asyncio.sleep(0)
        left = self.does.get(key)
        outcome = left.pop(0) if left else None
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    def say(self, key: str, *outcomes: BaseException | float | None) -> None:
        self.does[key] = list(outcomes)
        self.queue.add(key)

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(5):
            while not holds():
                await asyncio.sleep(0.005)


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
def logged() -> Iterator[list[logging.LogRecord]]:
    records: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = records.append  # type: ignore[method-assign]  a handler that keeps
    logger = logging.getLogger("reroll")
    logger.addHandler(handler)
    yield records
    logger.removeHandler(handler)


async def running(worker: Worker[str], work: Callable[[], bool], bench: Bench) -> None:
    task = asyncio.create_task(worker.run())
    try:
        await bench.until(lambda: work() or task.done())
        assert not task.done()
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


ERRORS = {
    "of the API server": Conflict("another was faster"),
    "unexpected": KeyError("data"),
    "of several": ExceptionGroup("two", [ValueError(), KeyError()]),
    "a cancelled call": asyncio.CancelledError(),
}


@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS)
async def test_an_error_is_tried_again_and_ends_nothing(bench: Bench, error: BaseException) -> None:
    worker = Worker(bench.queue, bench.reconcile, bench.backoff, on_error=lambda *_: 0.01)
    bench.say("bad", error, error)
    bench.say("good")

    await running(worker, lambda: bench.looks.count("bad") == 3, bench)
    assert bench.looks.count("good") == 1
    await asyncio.wait_for(bench.queue.drain(), 1)  # nothing counts as running any more


async def test_what_is_unexpected_is_logged_with_its_place_and_without_its_words(
    bench: Bench, logged: list[logging.LogRecord]
) -> None:
    worker = Worker(
        bench.queue, bench.reconcile, bench.backoff, on_error=lambda *_: None, noun="workload"
    )
    bench.say("web", KeyError("a value"))
    bench.say("api", Conflict("expected"))

    await running(worker, lambda: len(bench.looks) == 2 and bool(logged), bench)
    (record,) = logged
    assert record.getMessage() == "bug"
    fields = record.fields  # type: ignore[attr-defined]  of our Log
    assert (fields["workload"], fields["part"], fields["error"]) == ("web", "work", "KeyError")
    assert "test_worker.py" in fields["trace"]
    assert "a value" not in str(fields)


async def test_an_error_table_that_fails_ends_nothing_either(bench: Bench) -> None:
    def on_error(key: str, error: Exception) -> float | None:
        raise LookupError(key) from error

    worker = Worker(bench.queue, bench.reconcile, bench.backoff, on_error=on_error)
    bench.say("bad", Conflict("busy"))
    bench.queue.add("good", 0.05)
    await running(worker, lambda: "good" in bench.looks, bench)


async def test_an_error_table_may_say_never(bench: Bench) -> None:
    worker = Worker(bench.queue, bench.reconcile, bench.backoff, on_error=lambda *_: None)
    bench.say("bad", Conflict("gone"))
    await running(worker, lambda: bench.looks == ["bad"], bench)
    assert len(bench.queue) == 0


async def test_a_delay_is_a_second_look(bench: Bench) -> None:
    worker = Worker(bench.queue, bench.reconcile, bench.backoff)
    bench.say("web", 0.01, None)
    await running(worker, lambda: bench.looks == ["web", "web"], bench)
    assert len(bench.queue) == 0


async def test_success_ends_the_growth_of_delays(bench: Bench) -> None:
    worker = Worker(bench.queue, bench.reconcile, bench.backoff)
    for _ in range(10):
        bench.backoff.failed("web")
    bench.say("web")
    await running(worker, lambda: bench.looks == ["web"], bench)
    assert bench.backoff.failed("web") <= 0.01


async def test_several_keys_at_a_time() -> None:
    queue: Queue[int] = Queue(SystemClock())
    under_way = asyncio.Barrier(3)

    async def meet(_: int) -> None:
        await under_way.wait()

    for key in range(3):
        queue.add(key)
    task = asyncio.create_task(Worker(queue, meet, Backoff(SystemClock())).run(workers=3))
    async with asyncio.timeout(5):
        while len(queue) or under_way.n_waiting:
            await asyncio.sleep(0)
    task.cancel()


async def test_a_cancelled_worker_ends_and_leaves_nothing_running(bench: Bench) -> None:
    begun = asyncio.Event()

    async def hang(_: str) -> None:
        begun.set()
        await asyncio.sleep(3600)

    task = asyncio.create_task(Worker(bench.queue, hang, bench.backoff).run())
    bench.queue.add("web")
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(bench.queue.drain(), 1)


class Sending:
    """A worker of workloads that are sent somewhere, and then have something done about them."""

    def __init__(self, most: int) -> None:
        self.queue: Queue[str] = Queue(SystemClock(), most=most)
        self.worker = Worker(self.queue, self.reconcile, Backoff(SystemClock()))
        self.happened: list[str] = []
        self.under_way = self.most_under_way = 0

    async def reconcile(self, key: str) -> None:
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        await asyncio.sleep(0)
        self.happened.append("sent")
        self.under_way -= 1
        await self.worker.let_others_first(key)
        self.happened.append("told")

    async def send(self, keys: int) -> None:
        self.happened.clear()
        for key in range(keys):
            self.queue.add(f"{key}")
        async with asyncio.timeout(5):
            while len(self.happened) < 2 * keys:
                await asyncio.sleep(0)


async def test_others_come_first_and_no_more_at_a_time_than_before() -> None:
    sending = Sending(most=2)
    task = asyncio.create_task(sending.worker.run(workers=2))
    for _ in range(3):
        await sending.send(20)
        assert sending.happened == ["sent"] * 20 + ["told"] * 20
    assert sending.most_under_way == 2
    # As many work on as were asked for: the others ended.
    names = [one for one in asyncio.all_tasks() if "Worker._run" in repr(one)]
    assert len(names) <= 2
    task.cancel()


async def test_who_has_no_others_to_wait_for_goes_on_at_once() -> None:
    sending = Sending(most=2)
    task = asyncio.create_task(sending.worker.run(workers=2))
    await sending.send(1)
    assert sending.happened == ["sent", "told"]
    task.cancel()


async def test_a_worker_that_is_cancelled_leaves_nobody_aside() -> None:
    sending = Sending(most=1)
    sending.queue.add("first")
    sending.queue.add("second")
    hangs = asyncio.Event()

    async def reconcile(key: str) -> None:
        if key == "second":
            hangs.set()
            await asyncio.sleep(3600)
        await worker.let_others_first(key)

    worker = Worker(sending.queue, reconcile, Backoff(SystemClock()))
    task = asyncio.create_task(worker.run())
    await hangs.wait()
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task

    await asyncio.wait_for(sending.queue.drain(), 1)


class TestUntilIdle:
    async def test_it_takes_all_that_is_due_and_what_comes_of_it(self, bench: Bench) -> None:
        async def spread(key: str) -> None:
            await bench.reconcile(key)
            if len(key) < 3:
                bench.queue.add(key + "a")
                bench.queue.add(key + "b")

        reconcile: Reconcile[str] = spread
        bench.queue.add("x")
        bench.queue.add("later", 60)
        await Worker(bench.queue, reconcile, bench.backoff).run_until_idle()
        assert sorted(bench.looks) == ["x", "xa", "xaa", "xab", "xb", "xba", "xbb"]
        assert len(bench.queue) == 1

    async def test_an_error_ends_it_and_no_work_goes_on(self, bench: Bench) -> None:
        bench.say("bad", Conflict("busy"))
        ended = asyncio.Event()

        async def slow(key: str) -> float | None:
            if key == "bad":
                return await bench.reconcile(key)
            try:
                await asyncio.sleep(3600)
            finally:
                ended.set()
            return None

        bench.queue.add("slow")
        with pytest.raises(Conflict):
            await Worker(bench.queue, slow, bench.backoff).run_until_idle()
        await asyncio.wait_for(ended.wait(), 1)


def test_the_delay_after_an_error() -> None:
    backoff = Backoff(StillClock(), first=1.0)
    throttled = Throttled("slow down")
    throttled.retry_after = 30.0
    assert delay_after(backoff, "web", Conflict("busy")) == 1.0
    assert delay_after(backoff, "web", Conflict("busy")) == 2.0
    assert delay_after(backoff, "web", throttled) == 30.0
    assert delay_after(backoff, "api", ValueError()) == AFTER_BUG
    assert isinstance(throttled, ApiError)
