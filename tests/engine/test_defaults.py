"""What workloads and sources do that do not say it: settings, rows, Namespaces, their own words."""

import json
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from tests.support import build

from reroll.clock import SystemClock
from reroll.core.model.content import Content
from reroll.core.model.key import Key
from reroll.core.model.metadata import Manifest, Metadata
from reroll.core.model.pace import ALL, Limits, OnFailure, Pace, Parallel, SourcePace
from reroll.core.tables.catalog import source_kind
from reroll.core.tables.kinds import KINDS
from reroll.engine.content import Source
from reroll.engine.scope import scope
from reroll.engine.world import World
from reroll.settings.resolve import resolve
from reroll.settings.table import Settings

DEPLOYMENT = KINDS[0]
WEB, APP = Key("Deployment", "shop", "web"), Key("ConfigMap", "shop", "app")
CONFIG_MAP = source_kind("configmap")
MINUTE = timedelta(minutes=1)


def settings(**file: Any) -> Settings:
    given = {key.replace("_", "-"): value for key, value in file.items()}
    return resolve({}, {}, given, "reroll.yaml")


class Seen:
    """A world that was told of a workload, its Namespace and its source."""

    def __init__(self, given: Settings) -> None:
        self.woken: list[Key] = []
        self.world = World(
            SystemClock(),
            scope(given),
            Key("Secret", "reroll", "keys"),
            wake=lambda key, _: self.woken.append(key),
            want=lambda _: None,
        )
        self._version = 100

    def namespace(self, **annotations: str) -> None:
        self._version += 1
        meta = Metadata(name="shop", annotations=_ours(annotations))
        self.world.namespaces.observe(
            msgspec.structs.replace(meta, resource_version=str(self._version))
        )

    def workload(self, labels: dict[str, str] | None = None, **annotations: str) -> Pace:
        self._version += 1
        made = build.deployment(
            "web",
            uses="configmap/app",
            annotations={"reroll.dev/enabled": "true", **_ours(annotations)},
        )
        made["metadata"] |= {
            "namespace": "shop",
            "resourceVersion": str(self._version),
            "labels": labels or {},
        }
        manifest = msgspec.json.decode(json.dumps(made), type=Manifest)
        self.world.workload_seen(DEPLOYMENT, manifest)
        found = self.world.workloads[WEB].policy
        assert self.world.policy_of(DEPLOYMENT, manifest) == found
        return found.pace

    def source(self, **annotations: str) -> Content:
        self._version += 1
        made = {
            "metadata": {
                "name": "app",
                "namespace": "shop",
                "resourceVersion": str(self._version),
                "annotations": _ours(annotations),
            },
            "data": {"key": "value"},
        }
        assert CONFIG_MAP is not None
        source = msgspec.json.decode(json.dumps(made), type=Source)
        self.world.sources.source_seen(CONFIG_MAP, source, watched=True)
        found = self.world.sources.content(APP)
        assert isinstance(found, Content)
        return found

    def problems(self) -> list[str]:
        seen = self.world.snapshot(WEB, DEPLOYMENT)
        assert seen is not None
        return [problem.sentence for problem in seen.problems]


def _ours(annotations: dict[str, str]) -> dict[str, str]:
    return {f"reroll.dev/{name.replace('_', '-')}": text for name, text in annotations.items()}


def test_settings_are_the_default() -> None:
    given = settings(
        max_parallel="10%", soak="1m", deadline="5m", on_failure="continue", cooldown="1m",
        max_rolls="3/1h", limits={"cluster": 20},
    )  # fmt: skip

    found = Seen(given).workload()

    assert (found.max_parallel, found.soak, found.deadline) == (
        Parallel(percent=10),
        MINUTE,
        5 * MINUTE,
    )
    assert (found.on_failure, found.cooldown, found.max_rolls.number) == (
        OnFailure.CONTINUE,
        MINUTE,
        3,
    )
    assert given.limits == Limits(20)


def test_without_any_the_default_is_that_of_the_product_and_one_object() -> None:
    plain = scope(settings())

    assert plain.default.pace == Pace()
    assert plain.default_for(WEB, {"a": "b"}) is plain.default
    assert plain.default_for_source(APP).pace == SourcePace()


ROWS = [
    {"wave": 1, "soak": "1m", "exclusive": "one", "cooldown": "1m"},
    {"match": {"workloads": {"tier": "front"}}, "soak": "2m", "exclusive": "two"},
    {"match": {"namespaces": ["billing"]}, "wave": 9},
]


def test_the_workload_then_its_namespace_then_rows_the_later_first_then_settings() -> None:
    seen = Seen(settings(policies=ROWS, soak="9m", max_parallel="3"))
    seen.namespace(exclusive="three", wave="4")

    found = seen.workload({"tier": "front"}, wave="5")

    assert found == Pace(
        wave=5, exclusive="three", soak=2 * MINUTE, cooldown=MINUTE, max_parallel=Parallel(3)
    )


def test_other_labels_make_another_policy_and_the_workload_is_looked_at() -> None:
    seen = Seen(settings(policies=ROWS))
    assert seen.workload().soak == MINUTE
    seen.woken.clear()

    assert seen.workload({"tier": "front"}).soak == 2 * MINUTE
    assert seen.woken == [WEB]


def test_those_that_the_same_rows_are_for_share_one_default() -> None:
    rows = scope(settings(policies=ROWS))

    one = rows.default_for(WEB, {"tier": "front"})

    assert one is rows.default_for(Key("StatefulSet", "x", "db"), {"tier": "front", "a": "b"})
    assert one is not rows.default_for(WEB, {})
    assert rows.origins(WEB, {"tier": "front"}) == {
        "pace.wave": "policies[0]",
        "pace.soak": "policies[1]",
        "pace.exclusive": "policies[1]",
        "pace.cooldown": "policies[0]",
    }


# Sources

SOURCE_ROWS = [
    {"match": {"sources": ["configmap/*"]}, "max-parallel": "doubling", "soak": "1m"},
    {"match": {"sources": ["configmap/app"]}, "soak": "2m", "revisions": False},
]


@pytest.mark.parametrize(
    ("annotations", "pace", "unpinned"),
    [
        ({}, None, False),
        ({"max_parallel": "5"}, SourcePace(Parallel(5)), False),
        ({"soak": "1m", "on_failure": "hold"}, SourcePace(ALL, MINUTE, OnFailure.HOLD), False),
        ({"revisions": "false"}, None, True),
        ({"revisions": "true"}, None, False),
        ({"max_parallel": "all"}, None, False),
    ],
)
def test_what_a_source_says(
    annotations: dict[str, str], pace: SourcePace | None, unpinned: bool
) -> None:
    seen = Seen(settings())
    seen.workload()

    found = seen.source(**annotations)

    assert (found.pace, found.unpinned, seen.problems()) == (pace, unpinned, [])


def test_a_source_counts_before_rows_and_a_later_row_before_an_earlier_one() -> None:
    seen = Seen(settings(policies=SOURCE_ROWS))
    seen.workload()

    assert seen.source().pace == SourcePace(Parallel(doubling=True), 2 * MINUTE)
    assert seen.source().unpinned
    said = seen.source(max_parallel="all", soak="3m", revisions="true")
    assert (said.pace, said.unpinned) == (SourcePace(ALL, 3 * MINUTE), False)


def test_a_bad_value_on_a_source_is_told_to_its_users_and_the_rest_counts() -> None:
    seen = Seen(settings())
    seen.workload()

    found = seen.source(soak="1m", max_parallel="some", revisions="no", ignore="maybe")

    assert found.pace == SourcePace(soak=MINUTE)
    assert seen.problems() == [
        (
            "annotation reroll.dev/ignore on ConfigMap shop/app: 'maybe' is neither \"true\" nor "
            '"false"'
        ),
        (
            "annotation reroll.dev/max-parallel on ConfigMap shop/app: 'some' is not one of "
            '"all", "one", "doubling", a number, or a percentage like "10%"'
        ),
        (
            "annotation reroll.dev/revisions on ConfigMap shop/app: 'no' is neither \"true\" nor "
            '"false"'
        ),
    ]


def test_a_change_of_annotations_alone_reaches_users_and_is_no_change_of_content() -> None:
    seen = Seen(settings())
    seen.workload()
    before = seen.source()
    seen.woken.clear()

    after = seen.source(max_parallel="one")

    assert set(seen.woken) == {WEB}
    assert (before.pace, after.pace) == (None, SourcePace(Parallel(1)))
    assert after.changed == before.changed
