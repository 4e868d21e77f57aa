"""Copies that nobody owns: which are deleted, and at what cost."""

from typing import Any

import msgspec
import pytest
from tests.fuzz.bench import Bench, run

from reroll.core.model.content import Content
from reroll.core.model.key import Key
from reroll.core.model.moment import Moment
from reroll.core.revisions.content_names import COPY_OF
from reroll.core.revisions.copies import copy_names
from reroll.engine.content import Source, content
from reroll.kube.errors import ApiError

APP = Key("ConfigMap", "shop", "app")
DATA = {"key": "old"}
OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "r1"}
LISTS = {
    "apps": ("deployments", "statefulsets", "daemonsets", "replicasets", "controllerrevisions"),
    "batch": ("cronjobs", "jobs"),
}
EMPTY = b'{"metadata": {"resourceVersion": "1"}, "items": []}'


def _name() -> str:
    source: dict[str, Any] = {"metadata": {"name": APP.name, "namespace": "shop"}, "data": DATA}
    holds: Content = content(
        msgspec.json.decode(msgspec.json.encode(source), type=Source), None, Moment()
    )
    (name,) = copy_names(APP, holds)
    return name


COPY = Key("ConfigMap", "shop", _name())
PATH = f"/api/v1/namespaces/shop/configmaps/{COPY.name}"


def document(version: int, created: str = "2030-01-01T00:10:00Z", **more: Any) -> dict[str, Any]:
    """Of a copy, which is a few minutes old by the clock of the bench."""
    metadata = {
        "name": COPY.name,
        "namespace": "shop",
        "uid": "u1",
        "resourceVersion": str(version),
        "creationTimestamp": created,
        "labels": {COPY_OF: APP.name},
        **more,
    }
    return {"metadata": metadata, "data": DATA, "immutable": True}


def bench_with(copy: dict[str, Any], **by_plural: bytes) -> Bench:
    bench = Bench()
    bench.feed("namespaces", {"metadata": {"name": "shop", "resourceVersion": "1"}}, "ADDED")
    bench.feed("configmaps", copy, "ADDED")
    bench.listed()
    bench.answers.by_path[PATH] = msgspec.json.encode(copy)
    for group, plurals in LISTS.items():
        for plural in plurals:
            path = f"/apis/{group}/v1/namespaces/shop/{plural}"
            bench.answers.by_path[path] = by_plural.get(plural, EMPTY)
    return bench


async def deleted(bench: Bench) -> list[str]:
    await bench.rolling._executor.ownerless._look("shop")
    return [one.path for one in bench.answers.sent if one.method == "DELETE"]


OLD = "2029-12-31T00:00:00Z"


@pytest.mark.parametrize(("created", "goes"), [(OLD, True), ("2030-01-01T00:10:00Z", False)])
def test_one_that_is_old_enough_goes(created: str, goes: bool) -> None:
    async def look() -> list[str]:
        return await deleted(bench_with(document(5, created)))

    assert run(look()) == ([PATH] if goes else [])


def test_one_that_we_left_goes_however_young_if_its_revision_went_at_that_moment() -> None:
    async def look() -> tuple[list[str], list[str]]:
        bench = bench_with(document(5, ownerReferences=[OWNER]))
        ownerless = bench.rolling._executor.ownerless
        ownerless.left(COPY)
        before = await deleted(bench)
        assert bench.answers.sent == []  # A copy that has an owner costs nothing.
        ownerless.left(COPY)
        bench.feed("configmaps", document(6))
        bench.answers.by_path[PATH] = msgspec.json.encode(document(6))
        return before, await deleted(bench)

    assert run(look()) == ([], [PATH])


NAMING = {
    "a revision": (
        "replicasets",
        {"spec": {"template": {"metadata": {"annotations": {"pins": f"app={COPY.name}"}}}}},
    ),
    "a Job that is kept": ("controllerrevisions", {"data": {"job": {"spec": {"x": COPY.name}}}}),
    "the record of what was good": ("deployments", {"spec": {}}),
}


@pytest.mark.parametrize("which", NAMING)
def test_one_that_something_names_stays(which: str) -> None:
    plural, body = NAMING[which]
    noted = {"reroll.dev/record": f'{{"good":"app={COPY.name}"}}'} if "good" in which else {}
    metadata = {"name": "x", "namespace": "shop", "resourceVersion": "3", "annotations": noted}
    items = [{"metadata": metadata, **body}]
    answer = msgspec.json.encode({"metadata": {"resourceVersion": "3"}, "items": items})

    async def look() -> list[str]:
        return await deleted(bench_with(document(5, OLD), **{plural: answer}))

    assert run(look()) == []


def test_one_with_other_content_than_its_name_says_stays() -> None:
    async def look() -> list[str]:
        other = document(5, OLD)
        other["data"] = {"key": "mine"}
        return await deleted(bench_with(other))

    assert run(look()) == []


def test_nothing_goes_where_something_cannot_be_listed() -> None:
    async def look() -> list[str]:
        bench = bench_with(document(5, OLD), replicasets=b"not a list")
        with pytest.raises(ApiError):
            await deleted(bench)
        return [one.method for one in bench.answers.sent]

    assert "DELETE" not in run(look())
