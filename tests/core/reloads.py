"""Small builders for what is decided about workloads with Reloader's annotations."""

from datetime import timedelta
from typing import Any

import msgspec
from tests.core.build import NOW, configmap, content, reference, secret, snapshot

from reroll.core.dialects.rows import Options
from reroll.core.dialects.table import Dialects
from reroll.core.model.content import Content, Term
from reroll.core.model.moment import Moment
from reroll.core.model.record import Record
from reroll.core.model.reference import Reference
from reroll.core.observe.snapshot import Snapshot
from reroll.core.policy.policy import Claim, Policy
from reroll.core.tables.source_kinds import SOURCE_KINDS

KINDS_OF_SOURCES = frozenset(row.name for row in SOURCE_KINDS)
TERM = Term("reloader", on_create=False)
APP = reference(configmap("app"), terms=(TERM,))
DB = reference(secret("db"), terms=(TERM,))
HASH = "8b4c25a7d47e34be1ba4e9cf4a1aa6d6d4e2e0a1"
SAME = Dialects(options=Options(plain=KINDS_OF_SOURCES))
ANNOTATIONS = Dialects(options=Options(annotate=True, plain=KINDS_OF_SOURCES))
KEYED = Dialects(options=Options(plain=frozenset()))


def treated(**more: Any) -> Policy:
    claim = Claim(TERM, KINDS_OF_SOURCES)
    return Policy(enabled=True, debounce=timedelta(), claims=(claim,), **more)


def held(value: str = "v", hash_: str = HASH, **more: Any) -> Content:
    return content({"a": value}, Moment(200, 201), hashes=(("reloader", hash_),), **more)


def record(**entries: str) -> Record:
    named = {name.replace("_", "/"): digest for name, digest in entries.items()}
    return Record(n=7, at=NOW - timedelta(hours=1), why="x", s=named)


def look(sources: dict[Reference, Any], *, policy: Policy | None = None, **more: Any) -> Snapshot:
    entries = {ref.entry("shop").replace("/", "_"): "old" for ref in sources}
    more.setdefault("record", record(**entries))
    seen = snapshot(sources, policy=policy or treated(), **more)
    return msgspec.structs.replace(seen, history=None)
