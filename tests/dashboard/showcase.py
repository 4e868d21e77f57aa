"""A cluster in which much happens at once: what pages are looked at with, and pictures taken of."""

import asyncio
from datetime import timedelta
from typing import Any

from tests.dashboard.sample import (
    EXPLAINED,
    NOW,
    SETTINGS,
    TOKEN,
    WINDOWS,
    SampleCluster,
    change,
    edge,
    facts,
    held_by_somebody,
    overview,
    standing,
    waits_for_approval,
    web,
)

from reroll.core.model.key import Key
from reroll.core.model.record import ABORTED, PROMOTED
from reroll.core.observe.provenance import Write, Writes
from reroll.dashboard.cluster import SourceFacts
from reroll.dashboard.overview import Overview

FLAGS = Key("ConfigMap", "shop", "feature-flags")
LEVELS = Key("ConfigMap", "pay", "levels")
CANARY, BACK, HELD = web("search"), web("ledger", "pay"), web("mailer")
ROLLING = {"state": "progressing", "message": "3 of 4 new pods ready"}
CRASH = "ledger-7d9f-x2x: container app: CrashLoopBackOff, exit code 1"


def _at(hours: float) -> str:
    return f"{NOW - timedelta(hours=hours):%Y-%m-%dT%H:%M:%SZ}"


def _obstacle(reason: str, message: str, hours: float = 1) -> dict[str, Any]:
    return {"reason": reason, "message": message, "since": _at(hours)}


def _workloads() -> list[dict[str, Any]]:
    pods = {"running": 4, "configuration": "current", "olderThan": []}
    stopped = "a workload failed with what ConfigMap pay/levels holds: deployment/ledger"
    crowded = "2 of 2 workloads are under way for this change already"
    return [
        facts(web("catalog"), lastRoll=_at(0.2), pods=pods),
        facts(web("basket"), lastRoll=_at(0.1), rollout=ROLLING, pods=pods),
        facts(web("checkout"), lastRoll=_at(0.1), rollout=ROLLING, pods=pods),
        facts(web("stock"), obstacle=_obstacle("Crowded", crowded, 0.1)),
        facts(web("prices"), obstacle=_obstacle("WindowClosed", "no window of it is open", 0.1)),
        facts(
            CANARY, reason="OnCanary", message="complete; it soaks until 14:05:00 UTC", pods=pods,
            obstacle=_obstacle("OnCanary", "its canary search-canary is tried", 0.05),
        ),
        facts(
            BACK, reason="RolledBack", rollout={"state": "complete", "message": ""},
            message=f"it failed with ConfigMap pay/levels, and is back at the one before: {CRASH}",
        ),
        facts(
            web("invoices", "pay"), reason="Stopped", message=stopped,
            obstacle=_obstacle("Stopped", stopped, 2),
        ),
        facts(
            HELD, reason="Held", message="a hold keeps it from rolling (incident 42)",
            obstacle=_obstacle("Held", "a hold keeps it from rolling (incident 42)", 5),
        ),
        facts(
            web("reports"), obstacle=_obstacle("SourceMissing", "Secret shop/smtp is not there", 9),
        ),
        facts(
            web("recommender"), obstacle=_obstacle("Unapproved", "feature-flags waits", 3),
        ),
        *(facts(web(f"worker-{number}"), lastRoll=_at(30 + number)) for number in range(6)),
    ]  # fmt: skip


def _changes() -> list[Any]:
    under_way = [
        standing(web("catalog"), "healthy"),
        standing(web("basket"), "under way", 1, reason="Soaking", until="2026-11-17T14:05:00Z"),
        standing(web("checkout"), "under way", 1),
        standing(web("stock"), "next", 1, reason="Crowded", message="2 of 2 are under way"),
        standing(
            web("prices"), "held", 2, reason="WindowClosed", until="2026-11-17T22:00:00Z",
            message="it opens Mon-Fri 22:00-06:00 UTC",
        ),
        standing(CANARY, "next", 2, reason="OnCanary", message="its canary soaks",
                 until="2026-11-17T14:05:00Z"),
        standing(HELD, "held", 2, reason="Held", message="incident 42"),
    ]  # fmt: skip
    stopped = [
        standing(BACK, "rolled back", reason="RolledBack", message=CRASH),
        standing(web("invoices", "pay"), "held", 1, reason="Stopped", message="ledger failed"),
    ]
    return [change(SETTINGS, under_way), change(LEVELS, stopped, stopped=True)]


def busy() -> Overview:
    """One change under way, one that stopped and went back, and much that needs somebody."""
    workloads = _workloads()
    shop = [web(one["name"]) for one in workloads if one["namespace"] == "shop"]
    edges = [edge(SETTINGS, key, "env from all keys") for key in shop]
    edges += [edge(TOKEN, key, "env PASSWORD") for key in shop[:6]]
    edges += [edge(LEVELS, key, "mounted at /etc/levels") for key in (BACK, web("invoices", "pay"))]
    edges += [edge(FLAGS, web(name), "env from all keys") for name in ("recommender", "search")]
    edges.append(edge(Key("Secret", "shop", "smtp"), web("reports"), "env SMTP_PASSWORD"))
    edges.append(edge(Key("ConfigMap", "shop", "banner"), web("basket"), "mount", rolls=False))
    return overview(
        workloads,
        _changes(),
        edges,
        behind={
            SETTINGS: frozenset(map(web, ("stock", "prices", "search", "mailer"))),
            FLAGS: frozenset((web("recommender"),)),
        },
        missing=frozenset((Key("Secret", "shop", "smtp"),)),
        windows=WINDOWS,
        waiting={FLAGS: waits_for_approval(web("recommender"))},
    )


def sighted() -> Overview:
    """The same, before what they use is read: only rollouts are known."""
    unread = {"reason": "", "message": "", "lastRoll": "2026-11-17T13:40:00Z"}
    told = {
        7: {"state": "progressing", "message": "1 of 3 pods are new"},
        8: {"state": "progressing", "message": "2 of 3 pods are new"},
        9: {"state": "failing", "message": "its progress deadline is exceeded"},
    }
    keys = [web(f"service-{number}", f"team-{number % 40}") for number in range(5000)]
    done = {"state": "complete", "message": ""}
    rows = [facts(key, **unread, rollout=told.get(at, done)) for at, key in enumerate(keys)]
    return overview(rows, is_partial=True)


def crowded() -> Overview:
    """5,000 workloads on one source."""
    keys = [web(f"service-{number:04}", f"team-{number % 40:02}") for number in range(5000)]
    stages = [
        "healthy" if at < 2200 else "under way" if at < 2240 else "failed" if at == 2240 else "next"
        for at in range(5000)
    ]
    waves = [standing(key, stages[at], at * 4 // 5000) for at, key in enumerate(keys)]
    late = {"state": "failing", "message": "its progress deadline is exceeded"}
    goes = {"under way": {"rollout": ROLLING}, "failed": {"rollout": late}}
    seen = [facts(key, **goes.get(stages[at], {})) for at, key in enumerate(keys)]
    return overview(seen, [change(SETTINGS, waves)], [edge(SETTINGS, key) for key in keys])


def _happened(hours: float, reason: str, name: str, **said: Any) -> dict[str, Any]:
    part = {"entry": "configmap/settings#POOL_SIZE", "changed": _at(hours), "changedBy": "argocd"}
    return {
        "at": _at(hours), "workload": web(name)._asdict(), "reason": reason, "message": "",
        "sources": [part], "keys": ["POOL_SIZE"], "revision": None, "toldBy": "record",
        "result": "", **said,
    }  # fmt: skip


HISTORY = [
    _happened(0.05, "ConfigChanged", "checkout"),
    _happened(0.1, "ConfigChanged", "basket"),
    _happened(0.2, "ConfigChanged", "catalog", result="healthy"),
    _happened(2, "Stopped", "invoices", sources=[], keys=[], message="ledger failed"),
    _happened(2.1, "RolledBack", "ledger", sources=[], keys=[], message=CRASH),
    _happened(2.2, "ConfigChanged", "ledger", result="failed"),
    _happened(5, "Held", "mailer", sources=[], keys=[], message="incident 42"),
    *(_happened(6 + at * 0.6, "ConfigChanged", f"worker-{at % 6}") for at in range(18)),
    _happened(27, "ConfigChanged", "search"),
]
REVISED = [
    {
        "revision": number, "name": f"search-{name}", "created": _at(hours),
        "current": number == 7, "pods": [f"search-{name}-{one}" for one in "abcd"]
        if number == 7 else [],
        "pins": [{"source": "configmap/settings", "copy": f"settings-{name}",
                  "changedKeys": keys, "missing": number == 4}],
    }
    for number, name, hours, keys in (
        (7, "6c9f", 27, ["POOL_SIZE"]), (6, "84bd", 75, ["POOL_SIZE", "TIMEOUT"]),
        (5, "59aa", 170, ["LOG_LEVEL"]), (4, "7d10", 400, None),
    )
]  # fmt: skip
FINDINGS = [
    ("problem", "rights", "the controller may not evict pods", "grant the feature evict"),
    ("warning", "approvals", "nothing guards approvals", "reroll approvals install"),
    ("ok", "api", "the API server answers in 4 ms", ""),
    ("ok", "leader", "reroll-6c9f-x leads since 3 days", ""),
]


class Showcase(SampleCluster):
    """Answers as a busy cluster would."""

    def __init__(self, seen: Overview) -> None:
        super().__init__(seen)
        self.history, self.revised = HISTORY, REVISED
        self.trials[CANARY] = frozenset((PROMOTED, ABORTED))
        self.holders[HELD] = held_by_somebody(HELD)
        use = {"how": "env LEVEL", "verdict": "stale", "certain": True, "why": ""}
        told = {"source": SETTINGS._asdict(), "changed": _at(0.3), "changedBy": "argocd"}
        self.pods = [
            {"name": f"stock-{one}", "namespace": "shop", "workload": web("stock")._asdict(),
             "running": True, "stale": True, "uses": [{**use, **told}]}
            for one in "ab"
        ]  # fmt: skip

    async def explain(self, key: Key) -> Any:
        known, uses = self.seen.facts.get(key), EXPLAINED["sources"][0]
        mine = [one for one in self.seen.graph.edges if one.workload == key]
        sources = [
            {**uses, **one.source._asdict(), "uses": [{**uses["uses"][0], "how": how}]}
            for one in mine
            for how in one.hows
        ]
        return {**EXPLAINED, **(known or {}), "workload": key._asdict(), "sources": sources}

    async def source(self, key: Key) -> SourceFacts:
        keys = ("POOL_SIZE", "TIMEOUT", "LOG_LEVEL")
        known = (
            Write("argocd-controller", NOW - timedelta(minutes=12), frozenset(keys), True),
            Write("kubectl-edit", NOW - timedelta(days=3), frozenset(("LOG_LEVEL",)), True),
        )
        writes = Writes(created=NOW - timedelta(days=90), known=known)
        return SourceFacts(writes, self.holders.get(key), key in self.urgent)

    async def doctor(self) -> Any:
        names = ("level", "check", "sentence", "todo")
        found = [dict(zip(names, row, strict=True)) for row in FINDINGS]
        return {"version": "1", "worst": "problem", "findings": found}


class Slow(Showcase):
    """One that takes long to tell which pods are stale."""

    async def audit(self) -> Any:
        await asyncio.Event().wait()
