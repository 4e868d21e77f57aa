"""List and watch on the real API server: when all is well, not there, or not allowed."""

import asyncio
import uuid

import msgspec
import pytest
from msgspec.structs import replace
from tests.kube.follow import CONFIGMAPS, QUICK, SECRETS, Follower, connect, eventually, following
from tests.kube.models import ConfigMap, Meta, Partial

from reroll.clock import SystemClock
from reroll.kube import wire
from reroll.kube.errors import Malformed, NotFound, Rejected
from reroll.kube.watch import Absent, Apply, Init, InitDone, Watch

CRDS = wire.Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", False
)
ROLES = wire.Resource("rbac.authorization.k8s.io", "v1", "roles", "Role")
BINDINGS = wire.Resource("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding")

both_ways = pytest.mark.parametrize(
    "streaming", [True, False], ids=["by streaming list", "by pages"]
)


@both_ways
async def test_what_is_there_is_listed_and_what_happens_is_told(
    client, namespace, put, remove, streaming
):
    await put("a")
    await put("b")

    async with following(client, namespace, streaming=streaming) as (seen, watch):
        await asyncio.wait_for(watch.synced.wait(), 30)
        assert seen.values == {"a": "1", "b": "1"}
        assert watch.state == "watching"
        await put("a", "2")
        await put("c")
        await remove("b")
        await seen.until(lambda: seen.values == {"a": "2", "c": "1"})

    assert isinstance(seen.events[0], Init)
    assert seen.lists == 1


@both_ways
async def test_an_empty_list_is_complete_too(client, namespace, streaming):
    async with following(client, namespace, streaming=streaming, label_selector="x=y") as (
        seen,
        watch,
    ):
        await asyncio.wait_for(watch.synced.wait(), 30)

    assert [type(event) for event in seen.events] == [Init, InitDone]


@both_ways
async def test_one_that_is_held_back_tells_nothing_before_it_may_go_on(
    client, namespace, put, streaming
):
    calls = []
    client._on_call = calls.append
    await put("a")
    calls.clear()
    async with following(client, namespace, streaming=streaming) as (seen, watch):
        watch.hold_back()
        if streaming:
            await eventually(lambda: calls)
        await put("b")
        await client.send(wire.list_page(CONFIGMAPS, namespace, limit=1))
        assert (seen.events, watch.state, watch.synced.is_set()) == ([], "starting", False)
        watch.go_on()
        await seen.until(lambda: seen.values == {"a": "1", "b": "1"})
        await asyncio.wait_for(watch.synced.wait(), 30)

    assert seen.lists == 1


async def test_one_that_is_held_back_does_not_tell_that_there_is_no_such_api(client, namespace):
    calls = []
    client._on_call = calls.append
    nothing = wire.Resource("none.reroll.test", "v1", "things", "Thing")
    async with following(client, namespace, resource=nothing) as (seen, watch):
        watch.hold_back()
        await eventually(lambda: calls)
        await client.send(wire.list_page(CONFIGMAPS, namespace, limit=1))
        assert (seen.events, watch.state) == ([], "starting")
        watch.go_on()
        await seen.until(lambda: [type(event) for event in seen.events] == [Absent])


async def test_more_than_fits_a_page(client, namespace, put):
    for number in range(5):
        await put(f"c{number}")

    calls = []
    client._on_call = calls.append
    async with following(client, namespace, streaming=False, page_size=2) as (seen, watch):
        await asyncio.wait_for(watch.synced.wait(), 30)
        await put("later")
        await seen.until(lambda: "later" in seen.known)

    assert {f"c{number}" for number in range(5)} <= set(seen.known)
    assert [call.request.verb for call in calls][:3] == ["list", "list", "list"]
    assert seen.lists == 1


@both_ways
async def test_metadata_only_never_sees_the_data_of_secrets(client, namespace, streaming):
    secret = {"metadata": {"name": "db"}, "stringData": {"password": "hunter2"}}
    await client.send(wire.create(SECRETS, namespace, secret))
    more = {"resource": SECRETS, "model": Partial, "metadata_only": True, "streaming": streaming}

    async with following(client, namespace, **more) as (seen, watch):
        await asyncio.wait_for(watch.synced.wait(), 30)
        before = seen.known["db"].metadata.resource_version
        change = {"stringData": {"password": "hunter3"}}
        await client.send(wire.merge_patch(SECRETS, namespace, "db", change))
        await seen.until(lambda: seen.known["db"].metadata.resource_version != before)

    assert [event for event in seen.events if getattr(event, "obj", None) and event.obj.data] == []


async def test_only_what_the_selector_selects(client, namespace, put):
    await put("mine", team="a")
    await put("theirs", team="b")

    async with following(client, namespace, label_selector="team=a") as (seen, watch):
        await asyncio.wait_for(watch.synced.wait(), 30)
        await put("theirs", "2", team="b")
        await put("mine", "2", team="a")
        await seen.until(lambda: seen.values == {"mine": "2"})


async def test_all_namespaces(client, namespace, put):
    await put("a")

    async with following(client, None) as (seen, watch):
        await asyncio.wait_for(watch.synced.wait(), 30)
        spaces = {event.obj.metadata.namespace for event in seen.events if hasattr(event, "obj")}
        assert namespace in spaces
        seen.wrong.clear()  # equal names in several namespaces


async def test_a_stream_that_the_server_ends_goes_on_where_it_was(client, namespace, put):
    calls = []
    client._on_call = lambda call: calls.append(dict(call.request.query))
    quick = replace(QUICK, longest_stream=2.0)

    async with following(client, namespace, pace=quick) as (seen, watch):
        await asyncio.wait_for(watch.synced.wait(), 30)
        await put("a")
        await eventually(lambda: sum("watch" in call for call in calls) >= 3)
        await put("a", "2")
        await seen.until(lambda: seen.values.get("a") == "2")

    watches = [call for call in calls if "watch" in call]
    assert "sendInitialEvents" in watches[0]
    assert all("sendInitialEvents" not in call for call in watches[1:])
    assert all(call["resourceVersion"] for call in watches[1:])
    assert seen.lists == 1


async def test_bookmarks_move_the_place_to_resume_from_though_nothing_happened(
    client, namespace, put
):
    calls = []
    client._on_call = lambda call: calls.append(dict(call.request.query))
    quick = replace(QUICK, longest_stream=8.0)

    async with following(client, namespace, pace=quick, label_selector="none=such") as (
        seen,
        watch,
    ):
        await asyncio.wait_for(watch.synced.wait(), 30)
        listed = int(seen.events[-1].resource_version)
        await put("elsewhere")  # the store's version moves, but nothing that is followed
        # What was listed by pages is watched from there first.
        await eventually(lambda: [one for one in begun(calls) if one != listed])

    assert next(one for one in begun(calls) if one != listed) > listed


def begun(calls):
    """From where watches began that were told."""
    return [int(call["resourceVersion"]) for call in calls if "resourceVersion" in call]


# An API that comes and goes


def crd(group, kind="Thing"):
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    plural = kind.lower() + "s"
    return {
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind, "singular": kind.lower()},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }


async def create_once_served(client, resource, namespace, manifest):
    """An API that was deleted and made again is listed a moment before it takes objects."""
    async with asyncio.timeout(30):
        while True:
            try:
                return await client.send(wire.create(resource, namespace, manifest))
            except NotFound:
                await asyncio.sleep(0.05)


@both_ways
async def test_an_api_that_appears_vanishes_and_comes_back(client, namespace, streaming):
    group = f"g{uuid.uuid4().hex[:8]}.reroll.test"
    things = wire.Resource(group, "v1", "things", "Thing")
    thing = {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": "one"}}

    async with following(client, namespace, resource=things, streaming=streaming) as (seen, watch):
        await asyncio.wait_for(watch.synced.wait(), 30)
        assert (watch.state, watch.problem) == ("absent", None)
        assert [type(event) for event in seen.events] == [Absent]

        for round_ in (1, 2):
            await client.send(wire.create(CRDS, None, crd(group)))
            await seen.until(lambda: seen.lists >= round_)  # noqa: B023
            await create_once_served(client, things, namespace, thing)
            await seen.until(lambda: "one" in seen.known)
            await client.send(wire.delete(CRDS, None, f"things.{group}"))
            await seen.until(lambda: isinstance(seen.events[-1], Absent))
            assert seen.known == {}
            assert watch.state == "absent"


async def test_an_absent_api_is_told_once(client, namespace):
    calls = []
    client._on_call = calls.append
    nothing = wire.Resource("none.reroll.test", "v1", "things", "Thing")

    async with following(client, namespace, resource=nothing) as (seen, _):
        await eventually(lambda: len(calls) > 3)

    assert [type(event) for event in seen.events] == [Absent]


# What is not allowed


@pytest.fixture
def stranger():
    return f"stranger-{uuid.uuid4().hex[:8]}"


@pytest.fixture
async def nobody(cluster, stranger):
    """A client of the stranger, who has no rights."""
    async with connect(cluster.add_identity(stranger)) as client:
        yield client


async def grant(client, namespace, user, *verbs):
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": list(verbs)}
    name = {"metadata": {"name": "reader"}}
    subject = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": user}
    role = {"kind": "Role", "apiGroup": "rbac.authorization.k8s.io", "name": "reader"}
    await client.send(wire.create(ROLES, namespace, {**name, "rules": [rule]}))
    await client.send(
        wire.create(BINDINGS, namespace, {**name, "roleRef": role, "subjects": [subject]})
    )


@pytest.mark.parametrize(
    ("streaming", "verb"), [(True, "watch"), (False, "list")], ids=["streaming", "by pages"]
)
async def test_a_missing_permission_is_a_sentence_and_no_reason_to_wait(
    nobody, stranger, namespace, streaming, verb
):
    async with following(nobody, namespace, streaming=streaming) as (seen, watch):
        await asyncio.wait_for(watch.synced.wait(), 30)

        assert watch.state == "forbidden"
        assert watch.problem.startswith(f"cannot {verb} configmaps in namespace {namespace}: ")
        assert stranger in watch.problem
    assert seen.events == []


@both_ways
async def test_a_permission_that_is_granted_later_is_used(
    client, nobody, stranger, namespace, put, streaming
):
    await put("a")
    states = []
    more = {"streaming": streaming, "on_state": lambda *state: states.append(state[0])}

    async with following(nobody, namespace, **more) as (seen, watch):
        await asyncio.wait_for(watch.synced.wait(), 30)
        await grant(client, namespace, stranger, "list", "watch")
        await seen.until(lambda: seen.values == {"a": "1"})
        await eventually(lambda: watch.state == "watching")
        assert watch.problem is None

    assert states[0] == "forbidden"
    assert states[-1] == "watching"


async def test_the_right_to_watch_is_enough_for_a_streaming_list(
    client, nobody, stranger, namespace, put
):
    await grant(client, namespace, stranger, "watch")
    await put("a")

    async with following(nobody, namespace) as (seen, _):
        await seen.until(lambda: seen.values == {"a": "1"})


# Objects that do not fit


class Picky(msgspec.Struct):
    metadata: Meta
    data: dict[str, int] | None = None


@both_ways
async def test_an_object_that_does_not_fit_is_named_and_costs_no_other(
    client, namespace, put, streaming
):
    await put("odd", "not a number")

    async with following(client, namespace, model=Picky, streaming=streaming) as (seen, watch):
        await asyncio.wait_for(watch.synced.wait(), 30)
        await client.send(wire.create(CONFIGMAPS, namespace, {"metadata": {"name": "fits"}}))
        await put("odd", "still none")
        await seen.until(lambda: sum(getattr(e, "name", "") == "odd" for e in seen.events) >= 2)
        await seen.until(lambda: "fits" in seen.known)

    odd = [event for event in seen.events if isinstance(event, Malformed) and event.name == "odd"]
    assert {(event.kind, event.namespace) for event in odd} == {("ConfigMap", namespace)}
    assert "not a number" not in str(odd[0])


def test_a_server_that_takes_a_streaming_list_for_a_plain_watch_is_found_out(cluster):
    client = connect(cluster.kubeconfig("admin"))
    watch = Watch(
        client, CONFIGMAPS, ConfigMap, Follower(), clock=SystemClock(), on_bug=lambda *_: None
    )
    bookmark = {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "5"}}}

    with pytest.raises(Rejected):
        watch._take([msgspec.json.encode(bookmark)])


# The end


async def test_a_handler_that_raises_loses_one_event_and_the_watch_goes_on(client, namespace, put):
    follower, bugs = Follower(), []

    def broken(event):
        if getattr(getattr(event, "obj", None), "data", {}).get("key") == "poison":
            raise RuntimeError("our bug")
        follower(event)

    how = {"handler": broken, "on_bug": lambda what, error: bugs.append((what, type(error)))}
    await put("bad", "poison")
    async with following(client, namespace, **how) as (_, watch):
        await asyncio.wait_for(watch.synced.wait(), 30)
        await put("good")
        await follower.until(lambda: "good" in follower.known)
        await put("bad", "better")
        await follower.until(lambda: follower.values.get("bad") == "better")

    assert bugs == [(f"ConfigMap {namespace}/bad", RuntimeError)]
    assert follower.lists == 1


def test_what_is_told_of_a_state_may_fail_too(cluster):
    bugs = []

    def broken(*_):
        raise RuntimeError("our bug")

    client = connect(cluster.kubeconfig("admin"))
    how = {"on_state": broken, "on_bug": lambda what, _: bugs.append(what)}
    watch = Watch(client, CONFIGMAPS, ConfigMap, Follower(), clock=SystemClock(), **how)
    watch._open()
    assert (watch.state, bugs) == ("listing", ["ConfigMap listing"])


async def test_a_cancelled_watch_leaves_no_connection(client, namespace, sockets):
    async with following(client, namespace) as (_, watch):
        await asyncio.wait_for(watch.synced.wait(), 30)
        assert -1 not in sockets()

    await asyncio.wait_for(eventually(lambda: set(sockets()) == {-1}), 30)


async def test_what_the_server_says_is_activity(client, namespace, put):
    async with following(client, namespace) as (seen, watch):
        await asyncio.wait_for(watch.synced.wait(), 30)
        before = watch.last_activity
        await put("a")
        await seen.until(lambda: "a" in seen.known)
        assert watch.last_activity > before


def test_the_follower_of_these_tests_is_not_blind():
    follower = Follower()
    new, old = ConfigMap(Meta("a", "5"), {}), ConfigMap(Meta("a", "4"), {})

    for event in (Init(), Apply(new), InitDone("5"), Apply(new), Apply(old)):
        follower(event)

    assert len(follower.wrong) == 3
