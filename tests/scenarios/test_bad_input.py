"""Bad input of every sort: the user sees a reason, and other workloads work as ever."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.scenarios.stage import ENABLED, RECORD, Controller, Stage, Web, a, eventually
from tests.support import build

from reroll.core.dialects.annotations import ANNOTATIONS, SOURCE_LISTS
from reroll.core.tables.kinds import KINDS, Kind, Strategy
from reroll_dev.api import path_to

Start = Callable[..., Controller]

# annotation -> a value that cannot be used, and what the sentence about it says
BAD = {
    "enabled": ("yes please", 'neither "true" nor "false"'),
    "mounts": ("dead", 'neither "frozen" nor "live"'),
    "strategy": ("explode", "is not a strategy; use one of"),
    "debounce": ("soon", "is not a duration"),
    "revisions": ("always", 'neither "true" nor "false"'),
    "pin": ("nowhere", "is not one of auto, admission, template"),
    "reload-port": ("http", "is not a port number"),
    "reload-path": ("reload", "is not an absolute URL path"),
    "reload-again": ("later", "is not a duration"),
    "wave": ("first", "is not a whole number"),
    "max-parallel": ("some", 'is not one of "all", "one", "doubling"'),
    "soak": ("long", "is not a duration"),
    "deadline": ("0", "is no time at all"),
    "on-failure": ("panic", "is not one of hold, rollback, continue"),
    "exclusive": ("a b", "is not the name of a group"),
    "cooldown": ("long", "is not a duration"),
    "max-rolls": ("20", "is not a number of rolls in a time"),
    "approval": ("please", 'is neither "required" nor "none"'),
    "approval-timeout": ("0", "is not a duration of at most 30 days"),
    "canary": ("some", "is neither a number of pods, a percentage"),
    "canary-pause": ("yes", 'is neither "manual" nor "none"'),
    "window": ("Mon 25:00 UTC", "has the time '25:00', which cannot be read"),
    "urgent-before-expiry": ("soon", 'is neither "true", "false" nor a time'),
    "gates": ("https://x/", "names an address"),
    "notice": ("https://x/", "never a URL"),
    "sources": ("pod/web, configmap/extra", "begins with no known kind"),
    "ignore": ("configmap/[", "neither a name nor a glob"),
}
NEVER_BAD = {"hold"}
"""Any text is a reason to hold."""
HELD = {"approval": "Unapproved", "gates": "GateUnknown", "window": "WindowClosed"}
"""Who asks to be careful in words that nobody knows does not roll."""


def problems(running: Controller, name: str) -> list[str]:
    return [
        line["problem"]
        for line in running.lines()
        if line["msg"] == "bad input" and line["workload"].endswith(f"/{name}")
    ]


def test_each_malformed_annotation_is_told_once_and_the_rest_of_the_policy_applies(
    stage: Stage, controller: Start, web: Web
) -> None:
    assert set(BAD) == {row.name for row in ANNOTATIONS} - NEVER_BAD | set(SOURCE_LISTS)
    workloads = {
        name: build.deployment(
            name, uses="configmap/app", annotations={**ENABLED, f"reroll.dev/{name}": value}
        )
        for name, (value, _) in BAD.items()
    }
    stage.make(build.configmap("app"), build.configmap("extra"), *workloads.values())
    running = controller(*web.flags)
    adopting = [name for name in workloads if name != "enabled"]
    numbers = {name: stage.adopted(workloads[name])["n"] for name in adopting}

    stage.change("ConfigMap", "app", key="new")
    for name in adopting:
        if reason := HELD.get(name):
            eventually(lambda: stage.events(workloads[name], reason), f"{name} is held")  # noqa: B023
        else:
            stage.rolled(workloads[name], since=numbers[name])

    for name, (value, sentence) in BAD.items():
        [event] = eventually(
            lambda: stage.events(workloads[name], "InvalidAnnotation"),  # noqa: B023
            f"an Event tells of {name}",
        )
        assert f"reroll.dev/{name}" in event["message"]
        assert sentence in event["message"]
        assert value.partition(",")[0] in event["message"]
        assert len(problems(running, name)) == 1
    labels = f'kind="Deployment",namespace="{stage.namespace}"'
    assert web.metrics()[f"reroll_problems_total{{{labels}}}"] == len(BAD)
    # What could be read of a list counts.
    number = stage.record(workloads["sources"])["n"]
    stage.change("ConfigMap", "extra", key="new")
    stage.rolled(workloads["sources"], since=number)
    assert stage.record(workloads["enabled"]) == {}


CANNOT = [
    (kind, next(s for s in Strategy if s not in (*kind.strategies, Strategy.NEXT_RUN)))
    for kind in KINDS
    if kind.name != "Rollout"
]


@pytest.mark.parametrize(
    ("row", "strategy"), CANNOT, ids=[f"a {kind.name} cannot {s}" for kind, s in CANNOT]
)
def test_a_strategy_that_the_kind_cannot_do_is_told_and_the_usual_one_is_used(
    stage: Stage, controller: Start, row: Kind, strategy: Strategy
) -> None:
    asked = {**ENABLED, "reroll.dev/strategy": strategy.value}
    long = {"dev.reroll.dev/complete-after": "1h"}
    web = a(row, uses="configmap/app", annotations=asked, template_annotations=long)
    stage.make(build.configmap("app"), web)
    running = controller()
    number = stage.adopted(web)["n"]

    event = eventually(lambda: stage.events(web, "InvalidAnnotation"), "an Event tells of it")[0]
    assert f"a {row.name} cannot do '{strategy}'" in event["message"]
    stage.change("ConfigMap", "app", key="new")
    stage.rolled(web, since=number)
    told = running.wait_for(lambda line: line.get("reason") == "ConfigChanged")
    assert told["strategy"] == row.default_strategy


def test_a_bad_value_on_a_namespace_or_a_source_is_told_on_the_workloads_it_concerns(
    stage: Stage, controller: Start
) -> None:
    bad = {"metadata": {"annotations": {"reroll.dev/debounce": "later"}}}
    stage.api.patch(path_to("Namespace", stage.namespace), bad)
    web = build.deployment(uses="configmap/app", annotations=ENABLED)
    stage.make(build.configmap("app", annotations={"reroll.dev/ignore": "perhaps"}), web)
    controller()
    number = stage.adopted(web)["n"]

    where = f"reroll.dev/ignore on ConfigMap {stage.namespace}/app"
    for sentence in (
        f"reroll.dev/debounce on Namespace {stage.namespace}",
        f"{where}: 'perhaps' is neither",
    ):
        eventually(
            lambda s=sentence: any(
                s in e["message"] for e in stage.events(web, "InvalidAnnotation")
            ),
            "an Event tells of it",
        )
    stage.change("ConfigMap", "app", key="new")
    stage.rolled(web, since=number)


ODD_KEYS = ("-._", "_", "UPPER.lower-1_x", "a..b", "k" * 253)


def test_large_binary_and_oddly_named_content_is_content_like_any_other(
    stage: Stage, controller: Start
) -> None:
    large = build.configmap("large", {"text": "x" * 450_000})
    large["binaryData"] = {"blob": build.encode("\x00\xff" * 150_000)}
    odd = build.configmap("odd", dict.fromkeys(ODD_KEYS, "a"))
    odd["data"]["unicode"] = "smørbrød 🥪 \u0000 \ud7ff"
    env = [
        {"name": f"K{i}", "valueFrom": {"configMapKeyRef": {"name": "odd", "key": key}}}
        for i, key in enumerate(ODD_KEYS)
    ]
    web = build.deployment("web", uses="configmap/large", annotations=ENABLED)
    keys = build.deployment("keys", env=env, annotations=ENABLED)
    stage.make(large, odd, web, keys)
    controller()
    numbers = {one["metadata"]["name"]: stage.adopted(one)["n"] for one in (web, keys)}

    stage.change("ConfigMap", "odd", unicode="smørrebrød")
    stage.quiet(keys)
    stage.change("ConfigMap", "odd", **{ODD_KEYS[-1]: "b", "-._": "c"})
    assert stage.rolled(keys, since=numbers["keys"])["keys"] == ["-._", ODD_KEYS[-1]]

    blob = {"binaryData": {"blob": build.encode("\x00\xfe" * 150_000)}}
    stage.api.patch(path_to("ConfigMap", "large", stage.namespace), blob)
    assert stage.rolled(web, since=numbers["web"])["keys"] == ["blob"]


SPOILT = {
    "it is not JSON": "{oops",
    "it is another JSON": '["n", 1]',
    "a newer version wrote it": '{"v":99,"n":1,"at":"2030-01-01T00:00:00Z","why":"x","s":{}}',
    "it is empty": "",
}


@pytest.mark.parametrize("record", SPOILT.values(), ids=SPOILT)
def test_a_spoilt_record_is_told_and_written_anew_and_nothing_is_rolled(
    stage: Stage, controller: Start, record: str
) -> None:
    spoilt = {**ENABLED, RECORD: record}
    web = build.deployment(uses="configmap/app", annotations=spoilt)
    stage.make(build.configmap("app"), web)
    controller()

    def written() -> dict[str, Any] | None:
        text = stage.get(web)["metadata"]["annotations"][RECORD]
        return json.loads(text) if text != record else None

    number = eventually(written, "a record is written")["n"]
    event = eventually(lambda: stage.events(web, "InvalidAnnotation"), "an Event tells of it")[0]
    assert RECORD in event["message"]
    stage.quiet(web)
    assert stage.stamp(web) is None

    stage.change("ConfigMap", "app", key="new")
    stage.rolled(web, since=number)


def test_a_record_that_does_not_fit_on_the_workload_is_told_and_others_roll(
    stage: Stage, controller: Start
) -> None:
    full = {**ENABLED, "filler": "x" * (256 * 1024 - 60)}
    web = build.deployment("full", uses="configmap/app", annotations=full)
    other = build.deployment("other", uses="configmap/app", annotations=ENABLED)
    stage.make(build.configmap("app"), web, other)
    controller()
    number = stage.adopted(other)["n"]

    event = eventually(lambda: stage.events(web, "Rejected"), "an Event tells of it")[0]
    assert "annotations" in event["message"]
    stage.change("ConfigMap", "app", key="new")
    stage.rolled(other, since=number)


def test_a_workload_that_is_made_anew_is_told_of_anew(stage: Stage, controller: Start) -> None:
    bad = {**ENABLED, "reroll.dev/mounts": "dead"}
    web = build.deployment("web", replicas=0, uses="configmap/app", annotations=bad)
    stage.make(build.configmap("app"), web)
    running = controller()
    eventually(lambda: stage.events(web, "InvalidAnnotation"), "an Event tells of it")
    stage.adopted(web)

    stage.api.delete(stage.path(web))
    uid = stage.make(web)["metadata"]["uid"]

    def told() -> bool:
        events = stage.events(web, "InvalidAnnotation")
        return uid in {event["involvedObject"]["uid"] for event in events}

    eventually(told, "an Event tells of the new one")
    assert len(problems(running, "web")) == 2
