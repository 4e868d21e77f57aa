"""Pods whose configuration is older than what it comes from, as `reroll audit` finds them."""

from collections.abc import Iterable

from reroll.core.observe.staleness import Verdict
from reroll.dashboard.desk import Desk
from reroll.dashboard.overview import Facts, key_of
from reroll.dashboard.paging import Query, paged
from reroll.dashboard.schema import Ref, StalePage, StaleRow

AUDIT_FOR = 15.0
_ORDER = (Verdict.STALE.value, Verdict.MISSING.value, Verdict.UNKNOWN.value)


async def stale_page(desk: Desk, query: Query) -> StalePage:
    told = await desk.ask("audit", AUDIT_FOR, lambda cluster: cluster.audit())
    pods = [one for one in told["pods"] if query.namespace in {"", one["namespace"]}]
    shown, paging = paged(stale_rows(pods), query)
    running = told["running"]
    return StalePage(
        rows=shown,
        running=running.get(query.namespace, 0) if query.namespace else sum(running.values()),
        stale=sum(one["stale"] for one in pods if one["running"]),
        paging=paging,
        problems=list(told["problems"]),
    )


def stale_rows(pods: Iterable[Facts]) -> list[StaleRow]:
    """By verdict, workload and source; pure."""
    groups: dict[tuple[int, tuple[str, ...], tuple[str, ...]], list[tuple[Facts, Facts]]] = {}
    for pod in pods:
        for use in pod["uses"]:
            if use["verdict"] in _ORDER:
                rank = _ORDER.index(use["verdict"])
                place = rank, key_of(pod["workload"]), key_of(use["source"])
                groups.setdefault(place, []).append((pod, use))
    return [_row(found) for _, found in sorted(groups.items(), key=lambda one: one[0])]


def _row(found: list[tuple[Facts, Facts]]) -> StaleRow:
    pod, _ = found[0]
    use = max((use for _, use in found), key=lambda one: one["changed"] or "")
    return StaleRow(
        workload=Ref.of(key_of(pod["workload"])),
        source=Ref.of(key_of(use["source"])),
        verdict=use["verdict"],
        certain=any(use["certain"] for _, use in found),
        pods=list(dict.fromkeys(pod["name"] for pod, _ in found)),
        how=list(dict.fromkeys(use["how"].partition(" ")[0] for _, use in found)),
        changed=use["changed"],
        by=use["changedBy"],
        why=use["why"],
    )
