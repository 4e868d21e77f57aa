"""The timeline: by kind, by day and by hour; and what rolled for one source."""

import pytest
from tests.dashboard.hosted import site
from tests.dashboard.sample import NOW, web

from reroll.dashboard.pages.timeline import (
    bars,
    first_hour,
    hours,
    is_wanted,
    moment_of,
    said,
    total,
)
from reroll.dashboard.paging import Query


def happened(at: str, reason: str = "ConfigChanged", **said: object) -> dict[str, object]:
    sources = [{"entry": "configmap/app#a", "changed": None, "changedBy": "kubectl"}]
    workload = {"kind": "Deployment", "namespace": "shop", "name": "Checkout"}
    about = {"at": at, "reason": reason, "workload": workload, "sources": sources}
    return {**about, "keys": [], "message": "", "result": "", **said}


def test_a_day_is_counted_by_hours_and_by_what_happened() -> None:
    past = [
        happened("2026-11-17T13:59:00Z"),
        happened("2026-11-17T13:05:00Z", "RolledBack"),
        happened("2026-11-16T15:30:00Z", "Stopped"),
        happened("2026-11-16T14:59:00Z"),
    ]
    found = hours(past, first_hour("", NOW))
    assert (len(found), found[0].at, found[23].at) == (24, "2026-11-16T15", "2026-11-17T14")
    assert (found[0].stops, found[22].rolls, found[22].rollbacks) == (1, 1, 1)
    assert sum(map(total, found)) == 3
    assert said(found[22]) == "1 roll, 1 rollback"
    yesterday = hours(past, first_hour("2026-11-16", NOW))
    assert (yesterday[0].at, sum(map(total, yesterday))) == ("2026-11-16T00", 2)
    drawn_ = {hour.at: parts for hour, parts in bars(found, 32)}
    assert [(bar.kind, bar.begin, bar.height) for bar in drawn_["2026-11-17T13"]] == [
        ("rolls", 0, 16),
        ("rollbacks", 16, 16),
    ]


def test_a_timeline_is_selected_by_kind_reason_place_source_and_writer() -> None:
    entry = happened("2026-11-17T13:00:00Z", "Stopped")
    words = {"reason": "Stopped", "namespace": "shop", "name": "check", "kind": "stops"}
    assert is_wanted(entry, Query({**words, "source": "configmap/a", "by": "Kube"}))
    for one in (
        *({"reason": "Held"}, {"namespace": "other"}, {"name": "x"}, {"kind": "rolls"}),
        *({"source": "secret/"}, {"by": "alice"}, {"source": "#a"}),
    ):
        assert not is_wanted(entry, Query(one))


@pytest.mark.parametrize("text", ["x", "2026-13-01", "2026-11-17T25", "2026-11", "'"])
def test_a_day_that_there_is_not_is_all_that_is_known(text: str) -> None:
    assert moment_of(Query({"at": text})) == ""


async def test_a_day_and_an_hour_of_it_can_be_looked_at() -> None:
    async with site() as here:
        here.cluster.history = [
            happened("2026-11-17T13:00:00Z", workload=web("now")._asdict()),
            happened("2026-11-15T10:00:00Z", "RolledBack", workload=web("before")._asdict()),
        ]
        text = (await here.get("/timeline")).text
        assert 'href="/timeline?at=2026-11-17T13"' in text
        assert 'aria-label="13:00: 1 roll"' in text
        day = (await here.get("/api/v1/timeline?at=2026-11-15")).json()
        assert [one["workload"]["name"] for one in day["entries"]] == ["before"]
        assert (day["before"], day["after"]) == ("2026-11-14", "2026-11-16")
        assert day["kinds"] == {"rolls": 1, "rollbacks": 1}
        hour = (await here.get("/api/v1/timeline?at=2026-11-15T11")).json()
        assert hour["entries"] == []
        assert (await here.get("/api/v1/timeline?at=2026-11-17")).json()["after"] == ""


async def test_a_source_says_what_rolled_for_it_and_who_had_changed_which_keys() -> None:
    async with site() as here:
        other = {"entry": "configmap/other", "changed": None, "changedBy": "kubectl"}
        mine = {"entry": "configmap/settings#LEVEL", "changed": None, "changedBy": "alice"}
        here.cluster.history = [
            happened("2026-11-17T13:00:00Z", sources=[mine], keys=["LEVEL"]),
            happened("2026-11-17T12:00:00Z", sources=[other]),
        ]
        document = (await here.get("/api/v1/source/ConfigMap/shop/settings")).json()
        assert [one["sources"][0]["changedBy"] for one in document["past"]] == ["alice"]
        assert document["pods"] == 10
        assert "What rolled for it" in (await here.get("/source/ConfigMap/shop/settings")).text
