"""Whatever a watch brings: the object is told of or taken in, and the next good one is rolled."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fuzz import documents
from tests.fuzz.bench import Bench, run
from tests.fuzz.mutate import encode, near
from tests.fuzz.profile import fuzz
from tests.fuzz.seeded import Gen
from tests.scenarios.custom import rows

from reroll.core.tables.kinds import KINDS, Kind
from reroll.settings.resolve import resolve

CUSTOM = rows()
TABLES = resolve({}, {}, CUSTOM, "config.yaml").tables


def batches(one: Gen[Any]) -> st.SearchStrategy[list[tuple[str, Any]]]:
    """A few events about objects that are almost right."""
    usual = st.sampled_from(["ADDED", "MODIFIED"]) | st.just("DELETED")
    return st.lists(st.tuples(usual, near(one)), min_size=1, max_size=4)


async def survives(
    plural: str, events: list[tuple[str, Any]], file: dict[str, Any] | None = None
) -> None:
    bench = Bench(file)
    for word, document in events[:1]:
        bench.feed(plural, document, word)  # while the list goes on
    bench.listed()
    await bench.look()
    for word, document in events[1:]:
        bench.feed(plural, document, word)
        bench.clock.move(10)
        await bench.look()
    await bench.rolls_good()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_workloads(kind: Kind) -> None:
    @fuzz
    @given(batches(documents.workloads(kind)))
    def every(events: list[tuple[str, Any]]) -> None:
        run(survives(kind.plural, events))

    every()


OTHERS = [kind for kind in TABLES.kinds if kind not in KINDS]


@pytest.mark.parametrize("kind", OTHERS, ids=lambda kind: kind.name)
def test_workloads_of_custom_kinds(kind: Kind) -> None:
    @fuzz
    @given(batches(documents.workloads(kind)))
    def every(events: list[tuple[str, Any]]) -> None:
        run(survives(kind.plural, events, CUSTOM))

    every()


SOURCES = {
    "configmaps": documents.configmaps,
    "secrets": documents.secrets,
    "secretproviderclasspodstatuses": documents.mount_reports,
    "namespaces": documents.namespaces,
}
PLAIN = {"reroll.dev/enabled": "true"}
USERS = documents.workloads(KINDS[0]).map(
    lambda one: {**one, "metadata": {**one["metadata"], "annotations": PLAIN}}
)


@pytest.mark.parametrize("plural", SOURCES)
def test_what_workloads_use(plural: str) -> None:
    @fuzz
    @given(batches(SOURCES[plural]), USERS.documents)
    def every(events: list[tuple[str, Any]], user: Any) -> None:
        async def with_user() -> None:
            bench = Bench()
            bench.feed("deployments", user, "ADDED")
            for word, document in events:
                bench.feed(plural, document, word)
            bench.listed()
            for word, document in events:
                await bench.look()
                # Of a Secret the watch has only metadata: this is what it is read as.
                bench.answers.everything = encode(document)
                bench.feed(plural, document, word)
                await bench.look()
            bench.answers.everything = None
            await bench.rolls_good()

        run(with_user())

    every()
