"""A small cluster as the dashboard sees it, without one: documents as the commands tell them."""

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from reroll.answers.graph.graph import Edge, Graph
from reroll.core.model.approval import Ruling
from reroll.core.model.key import Key
from reroll.core.observe.approval import Waiting
from reroll.core.observe.provenance import Write, Writes
from reroll.core.tables.kinds import KINDS
from reroll.dashboard.cluster import Holder, SourceFacts
from reroll.dashboard.overview import Overview, Waits, nodes_of
from reroll.kube.errors import Unauthorized
from reroll.pipeline.hold import Result, Target
from reroll.settings.resolve import resolve

NOW = datetime(2026, 11, 17, 14, 0, tzinfo=UTC)
PORT = 8300
HOST = f"127.0.0.1:{PORT}"
URL = f"http://{HOST}"
COOKIE = f"reroll-{PORT}"
KINDS_BY_NAME = {kind.name: kind for kind in KINDS}
SETTINGS = Key("ConfigMap", "shop", "settings")
TOKEN = Key("Secret", "shop", "token")
CONTENT = "5f9c2d1a7b0e4c6d8f1a2b3c4d5e6f70"
"""Of the settings, as an approval names it."""


WINDOWS = resolve(
    {},
    {},
    {
        "windows": [
            {"name": "office", "allow": "Mon-Fri 09:00-17:00 UTC", "namespaces": ["shop"]},
            {"name": "holidays", "deny": "2026-12-20 to 2026-12-31 UTC"},
        ]
    },
    "",
).windows.rows


class StillClock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> datetime:
        return NOW + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds

    def jitter(self, seconds: float) -> float:
        return seconds


def web(name: str, namespace: str = "shop") -> Key:
    return Key("Deployment", namespace, name)


def facts(key: Key, **said: Any) -> dict[str, Any]:
    """What `reroll status` tells of a workload; all is well with it, but for what is said."""
    return {
        **key._asdict(),
        "reason": "UpToDate",
        "message": "nothing has changed since it was recorded",
        "lastRoll": "2026-11-17T13:00:00Z",
        "recorded": "2026-11-17T13:00:00Z",
        "obstacle": None,
        "rollout": {"state": "complete", "message": ""},
        "pods": {"running": 2, "configuration": "current", "olderThan": []},
        "declined": [],
        **said,
    }


def standing(key: Key, stage: str, wave: int = 0, **said: Any) -> dict[str, Any]:
    about = {"reason": "", "message": "", "until": None}
    return {**key._asdict(), "stage": stage, "wave": wave, **about, **said}


def change(source: Key, workloads: list[dict[str, Any]], *, stopped: bool = False) -> Any:
    counts: dict[str, int] = {}
    for one in workloads:
        counts[one["stage"]] = counts.get(one["stage"], 0) + 1
    said = {"source": source._asdict(), "stopped": stopped, "counts": counts}
    return {**said, "workloads": workloads}


def overview(
    workloads: Iterable[dict[str, Any]],
    changes: Iterable[dict[str, Any]] = (),
    edges: Iterable[Edge] = (),
    **more: Any,
) -> Overview:
    all_ = list(workloads)
    known = {Key(one["kind"], one["namespace"], one["name"]): one for one in all_}
    document = {"workloads": all_, "problems": [], "changes": list(changes)}
    drawn = Graph(tuple(sorted(edges)), tuple(known), more.pop("missing", frozenset()))
    fields = {
        "behind": {},
        "notes": (),
        "kinds": KINDS_BY_NAME,
        "facts": known,
        "digest": b"1",
        "nodes": nodes_of(drawn),
    }
    return Overview(at=NOW, document=document, graph=drawn, **{**fields, **more})


def edge(source: Key, workload: Key, how: str = "env", *, rolls: bool = True) -> Edge:
    return Edge(source, workload, (how,), rolls, optional=False)


HELD = facts(
    web("held"),
    reason="Held",
    message="a hold keeps it from rolling (incident 42)",
    obstacle={"reason": "Held", "message": "a hold keeps it (incident 42)", "since": None},
)
SICK = facts(
    web("checkout"),
    reason="Failing",
    message="its rollout with the current configuration failed: pod x CrashLoopBackOff",
    rollout={"state": "failing", "message": "pod x CrashLoopBackOff"},
)
WAITING = facts(
    web("search"),
    reason="Stopped",
    message="a workload failed with this configuration",
    obstacle={"reason": "Stopped", "message": "checkout failed", "since": None},
)
MOVING = facts(web("basket"), rollout={"state": "progressing", "message": "1 of 2 new pods"})


def shop() -> Overview:
    """A change that stopped, a hold, and one that rolls."""
    stages = [
        standing(web("checkout"), "failed", reason="Failing", message="pod x CrashLoopBackOff"),
        standing(web("search"), "held", 1, reason="Stopped", until="2026-11-17T14:05:00Z"),
    ]
    all_ = [HELD, SICK, WAITING, MOVING, facts(web("stock"))]
    edges = [edge(SETTINGS, web(one["name"])) for one in all_]
    edges.append(edge(TOKEN, web("checkout"), "env PASSWORD"))
    behind = {SETTINGS: frozenset((web("search"),))}
    return overview(
        all_, [change(SETTINGS, stages, stopped=True)], edges, behind=behind, windows=WINDOWS
    )


ENTRY = {
    "at": "2026-11-17T13:30:00Z",
    "workload": web("checkout")._asdict(),
    "reason": "ConfigChanged",
    "message": "",
    "sources": [{"entry": "secret/token#PASSWORD", "changed": None, "changedBy": None}],
    "keys": ["PASSWORD"],
    "revision": None,
    "toldBy": "record",
    "result": "healthy",
}
EXPLAINED = {
    **facts(web("checkout")),
    "workload": web("checkout")._asdict(),
    "enabled": True,
    "dialects": ["reroll"],
    "decided": [{"what": "enabled", "value": "true", "because": "an annotation"}],
    "record": {
        "at": "2026-11-17T13:30:00Z",
        "why": "ConfigChanged",
        "rolled": "2026-11-17T13:30:00Z",
        "by": ["secret/token#PASSWORD"],
        "keys": ["PASSWORD"],
        "heldSince": None,
    },
    "pins": [],
    "strategy": "stamp",
    "ifOptedIn": None,
    "sources": [
        {
            **TOKEN._asdict(),
            "uses": [
                {"how": "env PASSWORD", "keys": ["PASSWORD"], "optional": False, "live": False}
            ],
            "counts": True,
            "named": False,
            "required": True,
            "content": "as recorded",
            "why": "",
            "changed": "2026-11-17T13:00:00Z",
            "changedBy": "kubectl",
        }
    ],
    "changes": [],
    "gates": [],
    "warnings": [],
    "problems": [],
    "notes": [],
}


def revision(number: int, *, current: bool = False, missing: bool = False) -> dict[str, Any]:
    """As `reroll revisions -o json` has it."""
    pin = {"source": "secret/token", "copy": "token-x", "changedKeys": ["PASSWORD"]}
    return {
        "revision": number,
        "name": f"checkout-{number}",
        "created": "2026-11-17T10:00:00Z",
        "current": current,
        "pins": [{**pin, "missing": missing}],
        "pods": ["a", "b"] if current else [],
    }


def waits_for_approval(*workloads: Key, rejected: Ruling | None = None) -> Waits:
    since = NOW - timedelta(hours=1)
    waiting = Waiting(SETTINGS, CONTENT, since, timedelta(hours=4), rejected)
    return Waits(waiting, workloads)


def held_by_somebody(on: Key) -> Holder:
    return Holder("kubectl-annotate", "2026-11-17T12:00:00Z", on, "2026-11-17T16:00:00Z", "why")


class SampleCluster:
    """Answers with the documents above, and remembers what it was told to do."""

    def __init__(self, seen: Overview) -> None:
        self.seen, self.clock = seen, StillClock()
        self.done: list[tuple[Any, ...]] = []
        self.denied: set[tuple[str, str]] = set()
        """Verb and resource of what the user may not do."""
        self.pods: list[dict[str, Any]] = []
        self.holders: dict[Key, Holder] = {}
        self.urgent: set[Key] = set()
        self.trials: dict[Key, frozenset[str]] = {}
        """What can be said of canaries."""
        self.is_guarded: bool | None = True
        self.history: list[Any] = [ENTRY]
        self.revised: list[Any] = []
        self.listed = 0
        self.user: str | None = "alice"
        """Whom the API server knows; `None`: nobody any more."""

    async def who(self) -> str:
        if self.user is None:
            raise Unauthorized("Unauthorized")
        return self.user

    async def overview(self, _: Any) -> Overview:
        self.listed += 1
        return self.seen

    async def explain(self, key: Key) -> Any:
        told = {**EXPLAINED, "workload": key._asdict()}
        known = self.seen.facts.get(key)
        return {**told, **{name: known[name] for name in ("reason", "obstacle")}} if known else told

    async def timeline(self, _: Any) -> Any:
        return {"history": self.history, "problems": []}

    async def past(self, *_: Key) -> Any:
        return {"history": self.history, "problems": []}

    async def revisions(self, kind: Any, key: Key) -> Any:
        earlier = [one["revision"] for one in self.revised if not one["current"]]
        return {"revisions": self.revised, "previous": max(earlier, default=None)}

    async def trial(self, kind: Any, key: Key) -> frozenset[str]:
        return self.trials.get(key, frozenset())

    async def guarded(self) -> bool | None:
        return self.is_guarded

    async def audit(self) -> Any:
        running = Counter(one["namespace"] for one in self.pods if one["running"])
        return {"running": running, "pods": self.pods, "problems": []}

    async def doctor(self) -> Any:
        finding = {"check": "api", "level": "ok", "sentence": "it answers", "todo": ""}
        return {"version": "1", "worst": "ok", "findings": [finding]}

    async def source(self, key: Key) -> SourceFacts:
        write = Write("kubectl-edit", NOW - timedelta(hours=1), frozenset(("PASSWORD",)), True)
        writes = Writes(created=NOW - timedelta(days=1), known=(write,))
        return SourceFacts(writes, self.holders.get(key), key in self.urgent)

    async def holder(self, kind: Any, key: Key, sources: Any) -> Holder:
        return self.holders.get(key) or held_by_somebody(key)

    async def allowed(self, wanted: Any) -> list[bool]:
        return [(verb, resource.plural) not in self.denied for verb, resource, _ in wanted]

    async def hold(self, resource: Any, key: Key, value: str | None) -> Result:
        self.done.append(("hold", key, value))
        return Result(Target(resource, key.namespace, key.name), "", value or "")

    async def restart(self, key: Key, why: str) -> str:
        self.done.append(("restart", key, why))
        return ""

    async def rule(self, key: Key, content: str, why: str) -> None:
        self.done.append(("rule", key, content, why))

    async def call_urgent(self, key: Key, *, is_urgent: bool) -> None:
        self.done.append(("urgent", key, is_urgent))

    async def use(self, key: Key, revision: str) -> str:
        self.done.append(("use", key, revision))
        return f"{key} has the content of revision {revision} now."

    async def decide_canary(self, key: Key, word: str) -> None:
        self.done.append(("canary", key, word))
