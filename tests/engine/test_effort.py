"""A workload of great size that is written all the time: its namespace has a measure."""

import asyncio
from typing import Any

import msgspec
import pytest
from tests.core.build import DEPLOYMENT, Document, document, env, template
from tests.engine.test_fanout import run
from tests.fuzz.bench import Bench

from reroll.core.model.key import Key
from reroll.core.observe import workload
from reroll.engine import effort
from reroll.engine.wants import WorkloadState

PLACES = 300
WEB = Key("Deployment", "shop", "web")
PATH = "/apis/apps/v1/namespaces/shop/deployments/web"


@pytest.fixture(autouse=True)
def measure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of which a change of the template takes about a tenth."""
    monkeypatch.setattr(effort, "PER_SECOND", 10 * PLACES)


class Tenant:
    """Writes one Deployment, and counts how often its template is worked out."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, places: int = PLACES) -> None:
        self.bench = Bench()
        self.worked_out, self.version, self.generation, self.places = 0, 100, 1, places
        self.written: Document = {}
        usual = workload.spec_of

        def counted(*args: Any) -> Any:
            self.worked_out += 1
            return usual(*args)

        monkeypatch.setattr(workload, "spec_of", counted)
        namespace = {"metadata": {"name": "shop", "resourceVersion": "1"}}
        self.bench.feed("namespaces", namespace, "ADDED")
        self.write()
        self.bench.listed()
        self.worked_out = 0

    def write(self, name: str = "app", *, generation: int | None = None, **said: str) -> None:
        self.generation = self.generation + 1 if generation is None else generation
        self.version += 1
        pods = template(env=[env(name, f"k{n}") for n in range(self.places)])
        annotations = {"reroll.dev/enabled": "true"} | said
        self.written = document(
            DEPLOYMENT,
            pods,
            version=self.version,
            generation=self.generation,
            annotations=annotations,
        )
        self.bench.answers.by_path[PATH] = msgspec.json.encode(self.written)
        self.bench.feed("deployments", self.written)

    async def rests(self, seconds: float) -> None:
        """What is wanted meanwhile is read."""
        for _ in range(round(seconds * 10)):
            await asyncio.sleep(0.1)
            reader = self.bench.observer.reader
            while reader._queue.is_ready:
                want = await reader._queue.get()
                if isinstance(want, WorkloadState):
                    await reader._read(want)
                reader._queue.done(want)

    def names(self) -> list[str]:
        return [ref.source.name for ref in self.bench.world.workloads[WEB].references]


def test_a_large_template_that_changes_all_the_time_is_worked_out_in_its_measure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def flaps() -> None:
        tenant = Tenant(monkeypatch)
        for n in range(300):
            tenant.write(f"app-{n}")
            await tenant.rests(0.1)
        assert 30 <= tenant.worked_out <= 150

        await tenant.rests(5)
        assert tenant.names() == ["app-299"]
        assert tenant.bench.world.workloads[WEB].workload.version == tenant.version
        told = tenant.worked_out
        await tenant.rests(60)
        assert tenant.worked_out == told

    run(flaps)


def test_nobody_else_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async def beside() -> None:
        tenant = Tenant(monkeypatch)
        for n in range(30):
            tenant.write(f"app-{n}")
        assert tenant.worked_out < 15
        await tenant.bench.rolls_good()

    run(beside)


def test_a_write_that_leaves_the_template_as_it_is_works_nothing_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def writes() -> None:
        tenant = Tenant(monkeypatch)
        for n in range(300):
            tenant.write(generation=tenant.generation, other=str(n))
        assert tenant.worked_out == 0
        assert tenant.bench.world.workloads[WEB].workload.version == tenant.version

    run(writes)


def test_workloads_of_usual_size_wait_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async def writes() -> None:
        tenant = Tenant(monkeypatch, places=10)
        for n in range(300):
            tenant.write(f"app-{n}")
        assert tenant.worked_out == 300
        assert tenant.names() == ["app-299"]

    run(writes)


def test_the_version_after_one_that_was_passed_over_is_not_the_very_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def gap() -> None:
        tenant = Tenant(monkeypatch)
        for n in range(30):
            tenant.write(f"app-{n}")
        before = tenant.bench.world.workloads[WEB].workload.version
        assert before < tenant.version - 1
        await asyncio.sleep(5)  # It may be read by now, and is not: the watch is faster.
        tenant.write("last")
        seen = tenant.bench.world.workloads[WEB].workload
        assert (seen.template.after, seen.template.by) == (before, tenant.version)
        tenant.write("next")
        seen = tenant.bench.world.workloads[WEB].workload
        assert seen.template.after == tenant.version - 1

    run(gap)


def test_one_that_opts_out_or_goes_meanwhile_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    async def goes() -> None:
        tenant = Tenant(monkeypatch)
        for n in range(30):
            tenant.write(f"app-{n}")
        assert tenant.bench.world.effort.is_beyond("shop")
        tenant.write("out", **{"reroll.dev/enabled": "false"})
        assert WEB not in tenant.bench.world.workloads

        tenant.write("in")
        tenant.bench.feed("deployments", tenant.written, "DELETED")
        del tenant.bench.answers.by_path[PATH]
        await tenant.rests(5)
        assert WEB not in tenant.bench.world.workloads
        assert not tenant.bench.world.effort.is_beyond("shop")

    run(goes)
