"""What one tenant writes costs the engine what it touches, and never times what others wrote."""

import asyncio
from collections.abc import Iterable
from itertools import islice
from typing import Any

import msgspec
import pytest
from tests.core.build import (
    DEPLOYMENT,
    KIND,
    NOW,
    decoded,
    document,
    env,
    env_from,
    pod_spec,
    template,
)
from tests.support.steps import growth, steps

from reroll.clock import SystemClock
from reroll.core.decide.chains import decide
from reroll.core.dialects.table import ALL
from reroll.core.model.content import Content
from reroll.core.model.digest import content_digest, reference_digest, value_digests
from reroll.core.model.key import Key
from reroll.core.model.metadata import Metadata
from reroll.core.model.moment import Moment
from reroll.core.model.reference import Reference
from reroll.core.observe.snapshot import Absence
from reroll.core.policy.patterns import Pattern
from reroll.core.policy.policy import Policy
from reroll.core.policy.references import uses
from reroll.core.tables import limits
from reroll.core.tables.catalog import source_kind
from reroll.core.tables.reasons import Reason
from reroll.engine.content import Source, annotated, content, copied, is_wide
from reroll.engine.globs import Globs
from reroll.engine.lenders import Lenders
from reroll.engine.scope import Scope
from reroll.engine.wants import GlobMatches, SourceContent, Want, WorkloadState
from reroll.engine.world import World

ROW = source_kind("configmap")
assert ROW
ENABLED = {"reroll.dev/enabled": "true"}
WIDE = Key("ConfigMap", "shop", "wide")


class Stage:
    """A world, and what it wants."""

    def __init__(self) -> None:
        self.wanted: list[Want] = []
        self.woken: list[Key] = []
        self.version = 100
        self.world = World(
            SystemClock(),
            Scope(Policy()),
            Key("Secret", "reroll", "keys"),
            wake=lambda key, _: self.woken.append(key),
            want=self.wanted.append,
        )

    def workload(
        self, name: str, pods: Any = None, *, namespace: str = "shop", **annotations: str
    ) -> Key:
        said = ENABLED | {f"reroll.dev/{key}": value for key, value in annotations.items()}
        self.version += 1
        made = document(
            DEPLOYMENT, pods, version=self.version, name=name, namespace=namespace, annotations=said
        )
        self.world.workload_seen(DEPLOYMENT, decoded(made))
        return Key("Deployment", namespace, name)

    def configmap(self, name: str, values: dict[str, str] | None = None) -> Source:
        assert ROW
        self.version += 1
        source = a_configmap(name, values or {"key": str(self.version)}, self.version)
        self.world.sources.source_seen(ROW, source, watched=True)
        return source

    def nothing_exists(self) -> None:
        for key in self.world.sources:
            self.world.sources.content_seen(key, Absence.MISSING, 0)

    def names(self, key: Key) -> list[str]:
        return [ref.source.name for ref in self.world.workloads[key].references]


def a_configmap(name: str, values: dict[str, str], version: int = 7) -> Source:
    metadata = {"namespace": "shop", "name": name, "resourceVersion": str(version), "uid": name}
    text = msgspec.json.encode({"metadata": metadata, "data": values}, order="sorted")
    return msgspec.json.decode(text, type=Source)


def listed(names: Iterable[str]) -> str:
    return ",".join(f"cm/{name}" for name in names)


# Globs


def test_a_source_that_is_new_costs_the_users_of_globs_there_and_not_all_that_is_known() -> None:
    def work(size: int) -> object:
        stage = Stage()
        stage.workload("glob", sources="cm/*")
        for number in range(size // 50):
            names = (f"{number}-{n}" for n in range(50))
            stage.workload(f"names-{number}", sources=listed(names))
        return stage

    assert growth(work, 200) < 2.3


def test_sources_that_appear_one_by_one_are_added_and_nothing_else_is_worked_out_again() -> None:
    def work(size: int) -> object:
        stage = Stage()
        key = stage.workload("glob", template(envFrom=env_from(configmap="b7")), sources="cm/*")
        for number in range(size):
            stage.configmap(f"b{number}")
        assert stage.names(key) == sorted(f"b{number}" for number in range(size))
        return stage

    assert growth(work, 100) < 2.3


def test_a_reference_that_is_added_is_the_one_that_a_new_look_at_all_gives() -> None:
    stage = Stage()
    pods = template(envFrom=env_from(configmap="app"), env=[env("one", "a")])
    key = stage.workload("web", pods, sources="cm/*, cm/o*#b, cm/x#y", ignore="cm/ignored, cm/*#z")
    for name in ("one", "two", "ignored", "x"):
        stage.configmap(name)
    tracked = stage.world.workloads[key]

    assert tracked.references == stage.world.references.of(tracked.workload, tracked.policy)
    assert stage.names(key) == ["app", "one", "two", "x"]


def test_globs_of_one_workload_cost_nothing_of_what_others_use() -> None:
    def with_others(count: int) -> Globs:
        globs = Globs()
        for number in range(count):
            user = Key("Deployment", f"n{number}", "web")
            globs.use(user, [Pattern("ConfigMap", None, "a*")])
        return globs

    def work(globs: Globs) -> None:
        me = Key("Deployment", "mine", "web")
        globs.use(me, [Pattern("ConfigMap", None, "a*"), Pattern("Secret", None, "b*")])
        globs.use(me, [Pattern("ConfigMap", None, "a*")])
        globs.forget(me)

    few, many = with_others(10), with_others(1000)
    assert steps(lambda: work(few)) == steps(lambda: work(many))


def test_what_is_no_longer_used_is_forgotten() -> None:
    globs, me = Globs(), Key("Deployment", "mine", "web")
    one, two = Pattern("ConfigMap", None, "a*"), Pattern("Secret", None, "b*")
    assert set(globs.use(me, [one, two])) == {
        GlobMatches("ConfigMap", "mine", "mine"),
        GlobMatches("Secret", "mine", "mine"),
    }
    assert not globs.use(me, [one])
    assert not globs.mean(Key("Secret", "mine", "b"), frozenset())
    assert globs.mean(Key("ConfigMap", "mine", "a"), frozenset())
    assert list(globs.use(me, [two])) == [GlobMatches("Secret", "mine", "mine")]
    globs.forget(me)
    assert vars(globs) == {"_users": {}, "_patterns": {}, "_unexpanded": {}, "latest": 3}


def test_the_sources_of_a_namespace_are_found_without_a_look_at_the_others() -> None:
    def with_others(count: int) -> Stage:
        stage = Stage()
        for number in range(count // 100):
            names = (f"c{n}" for n in range(100))
            stage.workload("web", namespace=f"n{number}", sources=listed(names))
        stage.workload("web", sources="cm/a, cm/b")
        return stage

    few, many = with_others(100), with_others(1000)
    with_others(100).workload("glob", sources="cm/*")  # From now on the glob is compiled.
    assert len(many.world.sources) == 1002
    for stage in (few, many):
        assert len(stage.world.sources.of("ConfigMap", "shop")) == 2
    counts = [steps(lambda s=s: s.world.sources.of("ConfigMap", "shop")) for s in (few, many)]
    assert counts[0] == counts[1]
    counts = [steps(lambda s=s: s.workload("glob", sources="cm/*")) for s in (few, many)]
    assert counts[0] == counts[1]


# Thousands of workloads, each within its limits


def globs_of(number: int) -> str:
    return ",".join(f"cm/*-{number}-{n}-*" for n in range(limits.GLOBS.number))


def test_a_source_costs_no_more_where_thousands_of_workloads_have_globs_of_their_own() -> None:
    def with_workloads(count: int) -> Stage:
        stage = Stage()
        for number in range(count):
            stage.workload(f"w{number}", sources=globs_of(number))
        return stage

    few, many = with_workloads(60), with_workloads(600)
    few.configmap("none-of-them")  # From now on the globs are compiled.
    counts = [steps(lambda s=s: s.configmap("none-of-them")) for s in (few, many)]
    assert counts[0] == counts[1]


def test_references_of_one_namespace_are_kept_up_to_a_limit() -> None:
    stage = Stage()
    keys = [stage.workload(f"w{number}", sources="cm/*") for number in range(120)]
    stage.workload("apart", namespace="other", sources="cm/*")
    for number in range(limits.SOURCES.number):
        stage.configmap(f"c{number}")
    tracked = [stage.world.workloads[key] for key in keys]
    total = sum(len(one.references) for one in tracked)
    assert limits.NAMESPACE_SOURCES.number // 2 < total <= limits.NAMESPACE_SOURCES.number
    out = [key for key in keys if stage.world.references.room.is_out(key)]
    assert 20 <= len(out) < 120
    assert not stage.world.references.room.is_out(Key("Deployment", "other", "apart"))


def test_a_workload_for_which_its_namespace_has_no_room_is_held_and_told() -> None:
    stage = Stage()
    for number in range(limits.NAMESPACE_GLOBS.number // limits.GLOBS.number):
        stage.workload(f"w{number}", sources=globs_of(number))
    key = stage.workload("late", template(envFrom=env_from(configmap="app")), sources="cm/late-*")
    stage.configmap("late-1")
    snapshot = stage.world.snapshot(key, DEPLOYMENT)
    assert snapshot
    found = decide(snapshot, NOW)

    assert found.reason is Reason.TOO_MANY_SOURCES
    assert "the other workloads of its namespace" in found.message
    assert stage.names(key) == []

    stage.wanted.clear()
    stage.world.workload_gone(Key("Deployment", "shop", "w0"))
    assert stage.wanted == [WorkloadState(key)], "there is room: it is read again"
    stage.woken.clear()
    stage.workload("late", template(envFrom=env_from(configmap="app")), sources="cm/late-*")
    assert key in stage.woken
    assert GlobMatches("ConfigMap", "shop", "shop") in stage.wanted
    stage.configmap("late-1")
    assert stage.names(key) == ["app", "late-1"]


def test_annotations_as_long_as_they_can_be_are_kept_of_a_few_workloads_only() -> None:
    stage = Stage()
    keys = [
        stage.workload(f"w{number}", sources=f"{number}" + "x" * 240_000) for number in range(150)
    ]
    tracked = [stage.world.workloads[key] for key in keys]
    kept = sum(len(text) for one in tracked for text in one.workload.annotations.values())
    assert kept <= 256 * limits.NAMESPACE_SOURCES.number
    assert sum(one.judged is not None for one in tracked) <= 110
    snapshot = stage.world.snapshot(keys[-1], DEPLOYMENT)
    assert snapshot
    assert decide(snapshot, NOW).reason is Reason.TOO_MANY_SOURCES


def test_a_short_template_with_very_many_mounts_takes_little_memory() -> None:
    stage = Stage()
    sources = [{"configMap": {"name": f"c{n}"}} for n in range(90)]
    pods = template(volumeMounts=[{"name": "all", "mountPath": f"/{n}"} for n in range(90)])
    pods["spec"]["volumes"] = [{"name": "all", "projected": {"sources": sources}}]
    key = stage.workload("web", pods)

    assert len(stage.world.workloads[key].workload.uses) == 90
    assert len(stage.names(key)) == 90


def test_sources_that_come_and_go_under_a_glob_are_not_kept_for_ever() -> None:
    stage = Stage()
    key = stage.workload("web", template(envFrom=env_from(configmap="app-0")), sources="cm/app-*")
    for number in range(3 * limits.SOURCES.number):
        stage.configmap(f"app-{number}")
        stage.version += 1
        stage.world.sources.gone(Key("ConfigMap", "shop", f"app-{number}"), stage.version)
    stage.configmap("app-there")

    assert not stage.world.workloads[key].is_crowded
    assert len(stage.world.sources) <= limits.SOURCES.number
    assert {"app-0", "app-there"} <= set(stage.names(key)), "its template names the first"


# Looks


def test_a_look_at_names_of_another_namespace_takes_each_once() -> None:
    def work(size: int) -> object:
        stage = Stage()
        names = listed(f"other/{number}" for number in range(size))
        key = stage.workload("web", sources=names)
        assert stage.world.snapshot(key, DEPLOYMENT)
        stage.nothing_exists()
        found = stage.world.snapshot(key, DEPLOYMENT)
        assert found
        assert len(found.problems) == size
        return stage

    assert growth(work, 50) < 2.3


def test_a_look_lists_few_problems_however_many_there_are() -> None:
    stage = Stage()
    names = listed(f"other/{number}" for number in range(150))
    key = stage.workload("web", sources=names)
    stage.nothing_exists()
    snapshot = stage.world.snapshot(key, DEPLOYMENT)
    assert snapshot
    found = decide(snapshot, NOW).problems

    assert len(found) == limits.PROBLEMS.number + 1
    assert found[-1].reason is Reason.TOO_MANY_PROBLEMS
    assert "140 more problems" in found[-1].sentence


# Sources of one workload


def test_names_of_what_does_not_exist_are_wanted_up_to_a_limit() -> None:
    stage = Stage()
    stage.workload("web", sources=listed(f"{number:x}" for number in range(29_117)))
    assert len(stage.wanted) == limits.PATTERNS.number
    assert len(stage.world.sources) == limits.PATTERNS.number


@pytest.mark.parametrize("beyond", [0, 1])
def test_a_workload_with_too_many_sources_is_held_and_told(beyond: int) -> None:
    stage = Stage()
    key = stage.workload("web", sources="cm/*")
    [want] = stage.wanted
    assert isinstance(want, GlobMatches)
    stage.world.references.expanded(want, stage.world.references.latest_glob)
    for number in range(limits.SOURCES.number + 50 * beyond):
        stage.configmap(f"c{number}")
    snapshot = stage.world.snapshot(key, DEPLOYMENT)
    assert snapshot
    found = decide(snapshot, NOW)

    assert len(stage.names(key)) == limits.SOURCES.number + beyond
    assert (found.reason is Reason.TOO_MANY_SOURCES) is bool(beyond)
    assert (": more than 1000" in found.message) is bool(beyond)


def test_a_template_that_names_sources_at_too_many_places_is_held() -> None:
    stage = Stage()
    sources = [{"configMap": {"name": f"c{n}"}} for n in range(50)]
    mounts = [{"name": "all", "mountPath": f"/{n}", "subPath": f"{n}"} for n in range(50)]
    pods = template(volumeMounts=mounts)
    pods["spec"]["volumes"] = [{"name": "all", "projected": {"sources": sources}}]
    key = stage.workload("web", pods)
    snapshot = stage.world.snapshot(key, DEPLOYMENT)

    assert stage.world.workloads[key].workload.uses == ()
    assert snapshot
    assert decide(snapshot, NOW).reason is Reason.TOO_MANY_SOURCES


def test_a_template_is_walked_up_to_the_limit_and_no_further() -> None:
    def work(count: int) -> int:
        variables = [env("app", f"k{n}") for n in range(count)]
        found = uses(pod_spec(containers=[{"name": "web", "env": variables}]))
        return steps(lambda: tuple(islice(found, limits.USES.number + 1)))

    assert work(limits.USES.number + 1) == work(3 * limits.USES.number)


def test_mounts_of_the_same_part_are_walked_once() -> None:
    sources = [{"configMap": {"name": f"c{n}"}} for n in range(300)]
    mounts = [{"name": "all", "mountPath": f"/{n}"} for n in range(300)]
    volume = {"name": "all", "projected": {"sources": sources}}
    containers = [{"name": "web", "volumeMounts": mounts}]

    assert len(list(uses(pod_spec(containers=containers, volumes=[volume])))) == 300


# Keys of one source


def many(count: int, **more: str) -> dict[str, str]:
    return {f"k{number}": "x" for number in range(count)} | more


def kept(values: dict[str, str], *named: str, hmac: dict[str, bytes] | None = None) -> Content:
    from reroll.engine.content import Wanted

    wanted = Wanted(named=lambda: frozenset(named))
    return content(a_configmap("wide", values), hmac, Moment(), wanted=wanted)


@pytest.mark.parametrize("hmac", [None, {"k1": b"1" * 16, "k2": b"2" * 16}], ids=["plain", "keyed"])
def test_a_source_with_very_many_keys_has_the_digests_that_it_had(
    hmac: dict[str, bytes] | None,
) -> None:
    values = many(700, named="here")
    if hmac:  # As in a Secret.
        values = dict.fromkeys(values, "YQ==")
    plain = {name: b"a" if hmac else value.encode() for name, value in values.items()}
    every = {i: value_digests(plain, key) for i, key in (hmac or {"": None}).items()}
    source = Key("Secret" if hmac else "ConfigMap", "shop", "wide")
    whole, full = kept(values, "named", "gone", hmac=hmac), Content(every)
    part = Reference(source, keys=frozenset(("named", "gone")))
    for key_id in every:
        assert reference_digest(Reference(source), whole, key_id) == reference_digest(
            Reference(source), full, key_id
        )
        assert reference_digest(part, whole, key_id) == reference_digest(part, full, key_id)
        assert content_digest(source, whole, key_id) == content_digest(source, full, key_id)
    assert sum(map(len, whole.digests.values())) == len(every)
    assert whole.keys == {"named"}


def test_a_source_with_few_keys_has_a_digest_of_each() -> None:
    at_most = kept(many(limits.KEYS.number))
    assert (len(at_most.keys), at_most.wholes) == (limits.KEYS.number, {})


def test_of_very_many_keys_any_that_changes_is_a_change() -> None:
    source, other = Reference(WIDE), Reference(WIDE, without=frozenset(("k1",)))
    before, after = kept(many(700)), kept(many(700, k1="new"))
    assert reference_digest(source, before, "") != reference_digest(source, after, "")
    assert reference_digest(other, before, "") != reference_digest(other, after, "")
    assert reference_digest(Reference(WIDE, keys=frozenset(("k1",))), after, "") is None


@pytest.mark.parametrize("size", [1, 100, 256, 257, 600, 5000])
def test_a_source_is_wide_where_it_certainly_has_too_many_keys(size: int) -> None:
    for value in ("", 'a":', '{"a":"b","c":"d"}', '":"', "x" * 50):
        source = a_configmap("wide", dict.fromkeys(many(size), value))
        assert not is_wide(source) or size > limits.KEYS.number
        assert is_wide(source) or size <= 2 * limits.KEYS.number


def test_a_wide_source_is_read_in_its_turn_and_its_digest_is_made_in_pieces() -> None:
    stage = Stage()
    key = stage.workload("web", template(env=[env("wide", "k1")]))
    stage.wanted.clear()
    source = stage.configmap("wide", many(100_000))
    assert stage.wanted == [SourceContent(WIDE)]
    assert stage.world.sources.content(WIDE) is Absence.UNREAD

    assert ROW
    pieces = list(stage.world.sources.observe_in_pieces(ROW, source, watched=False))
    assert len(pieces) >= 100
    found = stage.world.sources.content(WIDE)
    assert isinstance(found, Content)
    assert (found.keys, found.changed_keys) == ({"k1"}, frozenset())
    assert stage.woken[-1] == key

    stage.wanted.clear()
    stage.workload("other", template(env=[env("wide", "k2")]))
    assert stage.wanted == [SourceContent(WIDE)]
    stage.world.sources.observe(ROW, source, watched=False)
    again = stage.world.sources.content(WIDE)
    assert isinstance(again, Content)
    assert (again.keys, again.changed) == ({"k1", "k2"}, found.changed)


def test_a_user_that_comes_while_the_digest_is_made_has_it_made_again() -> None:
    stage = Stage()
    stage.workload("web", template(envFrom=env_from(configmap="wide")))
    source = stage.configmap("wide", many(2_000))
    assert ROW
    work = stage.world.sources.observe_in_pieces(ROW, source, watched=False)
    next(work)
    stage.workload("other", template(env=[env("wide", "k2")]))
    stage.wanted.clear()
    assert list(work)
    assert stage.wanted == [SourceContent(WIDE)]


def test_a_copy_holds_what_its_source_held_though_it_has_another_name() -> None:
    values = many(700)
    copy = content(copied(a_configmap("wide-0123456789", values), WIDE), None, Moment())
    assert content_digest(WIDE, copy, "") == content_digest(WIDE, kept(values), "")


def test_ignored_keys_of_a_source_that_counts_as_a_whole_are_told() -> None:
    stage = Stage()
    pods = template(envFrom=env_from(configmap="wide"))
    key = stage.workload("web", pods, ignore="cm/wide#k1")
    source = stage.configmap("wide", many(700))
    assert ROW
    stage.world.sources.observe(ROW, source, watched=False)
    snapshot = stage.world.snapshot(key, DEPLOYMENT)
    assert snapshot
    [problem] = decide(snapshot, NOW).problems
    assert problem.reason is Reason.TOO_MANY_KEYS


def test_a_source_consents_to_as_many_namespaces_as_a_list_may_have() -> None:
    said = {"reroll.dev/allow-from": ",".join(f"n{n}" for n in range(30_000))}
    found = annotated(Content({}), Metadata(name="app", annotations=said))
    assert len(found.allow_from) == limits.PATTERNS.number


def test_a_glob_is_asked_for_once() -> None:
    stage = Stage()
    stage.workload("web", sources="cm/a*")
    stage.workload("web", sources="cm/a*", debounce="2s")
    assert stage.wanted == [GlobMatches("ConfigMap", "shop", "shop")]


async def test_others_run_while_a_wide_source_is_digested() -> None:
    stage = Stage()
    stage.workload("web", template(envFrom=env_from(configmap="wide")))
    source = stage.configmap("wide", many(20_000))
    turns = 0

    async def digest() -> None:
        assert ROW
        for _ in stage.world.sources.observe_in_pieces(ROW, source, watched=False):
            await asyncio.sleep(0)

    task = asyncio.create_task(digest())
    while not task.done():
        turns += 1
        await asyncio.sleep(0)
    assert turns >= 20


def test_a_lender_is_forgotten_without_a_look_at_the_others() -> None:
    def with_others(count: int) -> Lenders:
        lenders = Lenders(ALL.words, lambda _: None)
        for number in range(count):
            assert lend(lenders, f"r{number}", f"d{number}")
        return lenders

    few, many = with_others(5), with_others(500)
    for lenders in (few, many):
        lend(lenders, "mine", "d1")
        lend(lenders, "other", "d1")
    mine, other = (Key("Rollout", "shop", name) for name in ("mine", "other"))
    gone = [
        steps(lambda each=each: (each.forget(other), each.forget(mine))) for each in (few, many)
    ]
    assert gone[0] == gone[1]
    assert len(few.lent()) == 4


def lend(lenders: Lenders, rollout: str, borrower: str) -> bool:
    made = document(KIND["Rollout"], name=rollout, namespace="shop")
    made["spec"] = {"workloadRef": {"kind": "Deployment", "name": borrower}}
    return lenders.lend(KIND["Rollout"], Key("Rollout", "shop", rollout), decoded(made))
