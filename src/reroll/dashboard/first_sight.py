"""What workloads tell by themselves, before anything that they use is read. Pure.

To read the sources of thousands of workloads takes seconds; whose rollout fails or goes on stands
in the workloads, which come by the page. Who counts is who has a record: it was opted in, and seen.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime

from reroll.answers.documents import moment
from reroll.answers.graph.graph import Graph
from reroll.answers.history.history import Subject
from reroll.core.model.key import Key
from reroll.core.model.metadata import Manifest
from reroll.core.observe.health import health
from reroll.core.observe.pods import rollout
from reroll.core.tables.kinds import Kind
from reroll.dashboard.overview import Facts, Overview
from reroll.engine.listing import record_of

MANY = 500
"""Fewer workloads are listed with all that they use before somebody waits for it."""


class Sights:
    """What is seen as page after page of workloads comes."""

    def __init__(self) -> None:
        self._facts: dict[Key, Facts] = {}

    def add(self, kind: Kind, page: Iterable[Manifest]) -> None:
        for one, manifest in _subjects(kind, page):
            self._facts[one.key] = _facts(one, manifest)

    def __len__(self) -> int:
        return len(self._facts)

    def overview(self, now: datetime) -> Overview:
        facts = dict(self._facts)
        return Overview(
            at=now,
            document={"workloads": [], "changes": [], "problems": []},
            graph=Graph((), tuple(facts), frozenset()),
            behind={},
            notes=(),
            kinds={},
            facts=facts,
            digest=b"",
            nodes=(),
            is_partial=True,
        )


def _subjects(kind: Kind, page: Iterable[Manifest]) -> Iterator[tuple[Subject, Manifest]]:
    for manifest in page:
        metadata = manifest.metadata
        if record := record_of(manifest):
            key = Key(kind.name, metadata.namespace, metadata.name)
            yield Subject(kind, key, metadata.uid, record), manifest


def _facts(one: Subject, manifest: Manifest) -> Facts:
    since = one.own.rolled if one.own else None
    goes = rollout(one.kind, health(one.kind, manifest), (), since)
    return {
        **one.key._asdict(),
        "reason": "",
        "message": "",
        "obstacle": None,
        "rollout": {"state": goes.progress.value, "message": goes.message},
        "lastRoll": moment(since),
    }
