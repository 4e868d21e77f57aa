"""What somebody with rights in one namespace tries: docs/concepts/security.md tells what they get.

What is about annotations that cannot be used is in test_bad_input.py, about consent in
test_sources.py, about rights in test_refusals.py, about values in test_seen_by_people.py.
"""

import json
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.scenarios.stage import ENABLED, RECORD, Controller, Stage, Web, eventually
from tests.scenarios.test_upgrade import has_looked
from tests.support import build
from tests.support.command import Finished, reroll
from tests.support.faultproxy import FaultProxy
from tests.support.tools import kubeconfig_of

from reroll.core.dialects.rows import Options
from reroll.core.dialects.table import DIALECTS
from reroll_dev.cluster import DevCluster

Start = Callable[..., Controller]
_CALLS = re.compile(r'reroll_api_calls_total\{.*resource="(secrets|configmaps)",verb="(get|list)"')


def test_names_of_sources_in_other_namespaces_cannot_be_found_by_asking(
    stage: Stage, controller: Start, another: Callable[[], Stage]
) -> None:
    there = another()
    place = there.namespace
    there.make(
        build.secret("vault"),
        build.configmap("known"),
        build.secret("bad", annotations={"reroll.dev/ignore": "perhaps"}),
    )
    asked = ("secret/vault", "secret/no-such", "configmap/known", "configmap/no-such", "secret/bad")
    globs = ("secret/v*", "secret/x*", "configmap/*")
    named = [word.replace("/", f"/{place}/") for word in (*asked, *globs)]
    spies = [
        build.deployment(
            f"spy-{number}",
            replicas=0,
            uses="configmap/app",
            annotations={**ENABLED, "reroll.dev/sources": word},
        )
        for number, word in enumerate(named)
    ]
    stage.make(build.configmap("app"), *spies)
    controller()

    shapes = set()
    for word, spy in zip(named, spies, strict=True):
        stage.adopted(spy)
        about = eventually(lambda s=spy: stage.events(s, "InvalidAnnotation"), "an Event tells")
        shapes |= {event["message"].replace(word, "X") for event in about}
        glob = {word} if word in named[len(asked) :] else set()
        assert set(stage.record(spy)["s"]) == {"configmap/app", *glob}
    [shape] = shapes
    assert shape.startswith("X does not exist, or does not let namespace")


def test_a_secret_that_does_not_consent_is_never_read_for_others(
    stage: Stage,
    controller: Start,
    another: Callable[[], Stage],
    fault_proxy: FaultProxy,
    reroll_kubeconfig: Path,
) -> None:
    there = another()
    place = there.namespace
    consent = {"reroll.dev/allow-from": stage.namespace}
    there.make(build.secret("shy"), build.secret("open", annotations=consent))
    named = {**ENABLED, "reroll.dev/sources": f"secret/{place}/shy, secret/{place}/*"}
    spy = build.deployment("spy", uses="configmap/app", annotations=named)
    stage.make(build.configmap("app"), spy)
    controller(kubeconfig=fault_proxy.kubeconfig(reroll_kubeconfig))
    stage.adopted(spy)
    eventually(lambda: f"secret/{place}/open" in stage.record(spy)["s"], "what consents counts")
    there.change("Secret", "shy", password="new")
    number = stage.record(spy)["n"]
    there.change("Secret", "open", password="new")
    stage.rolled(spy, since=number)

    read = {
        (entry.path.partition("?")[0].rpartition("/")[2], "PartialObjectMetadata" in entry.accept)
        for entry in fault_proxy.log
        if entry.path.startswith(f"/api/v1/namespaces/{place}/secrets/")
    }
    assert read == {("open", False)}

    # Who consents later is read from then on, and rolls nothing by that.
    stamp = stage.stamp(spy)
    there.annotate(build.secret("shy"), allow_from="*")
    eventually(lambda: f"secret/{place}/shy" in stage.record(spy)["s"], "it counts now")
    stage.quiet(spy)
    assert stage.stamp(spy) == stamp


def test_metrics_do_not_tell_which_sources_another_namespace_has(
    stage: Stage, controller: Start, another: Callable[[], Stage], web: Web
) -> None:
    there = another()
    place = there.namespace
    there.make(build.secret("db"), build.configmap("app"))
    stage.make(build.configmap("app"))
    controller(*web.flags)
    # One of each first, so that no series is new.
    asked = [f"secret/{place}/warm-*", f"secret/{place}/warm", f"configmap/{place}/warm"]
    for number, name in enumerate(asked):
        _ask(stage, number, name)
    told = {}
    names = {"secret": ("db", "no", "d*", "n*"), "configmap": ("app", "no", "a*", "n*")}
    pairs = [(kind, name) for kind, each in names.items() for name in each]
    for number, (kind, name) in enumerate(pairs):
        before = _counts(web)
        _ask(stage, number + len(asked), f"{kind}/{place}/{name}")
        after = _counts(web)
        told[kind, name] = {key: after[key] - before.get(key, 0) for key in after}

    for kind, (there_is, there_is_not, some, none) in names.items():
        assert told[kind, there_is] == told[kind, there_is_not]
        assert told[kind, some] == told[kind, none]

    # Neither do they tell when it changes.
    before, spy = _counts(web), build.deployment("spy-0")
    number = stage.record(spy)["n"]
    there.change("Secret", "db", password="2")
    there.change("ConfigMap", "app", key="2")
    stage.change("ConfigMap", "app", key="2")
    stage.rolled(spy, since=number)
    assert _counts(web) == before


def _ask(stage: Stage, number: int, sources: str) -> None:
    """A workload that names them, adopted."""
    named = {**ENABLED, "reroll.dev/sources": sources}
    spy = build.deployment(f"spy-{number}", uses="configmap/app", annotations=named, replicas=0)
    stage.make(spy)
    stage.adopted(spy)
    eventually(lambda: stage.events(spy, "InvalidAnnotation"), "an Event tells of it")


def _counts(web: Web) -> dict[str, float]:
    """What whoever reads metrics sees of sources: how many, and the calls for them."""
    time.sleep(1.1)  # They are rendered once a second at most.
    return {
        name: value
        for name, value in web.metrics().items()
        if name == "reroll_sources" or _CALLS.match(name)
    }


def test_a_reload_asks_nobody_who_is_no_pod(stage: Stage, controller: Start) -> None:
    asked = {**ENABLED, "reroll.dev/strategy": "reload", "reroll.dev/reload-path": "@example.com/"}
    cloud = {"dev.reroll.dev/address": "169.254.169.254"}
    web = build.deployment(mounts="configmap/app", annotations=asked, template_annotations=cloud)
    stage.make(build.configmap("app"), web)
    controller()
    number = stage.adopted(web)["n"]
    stage.settled(web)

    stage.change("ConfigMap", "app", key="new")

    stage.rolled(web, since=number)
    event = eventually(lambda: stage.events(web, "ReloadRefused"), "an Event tells of it")[0]
    assert "169.254.169.254, which no pod has" in event["message"]
    [path] = [e["message"] for e in stage.events(web, "InvalidAnnotation")]
    assert "is not an absolute URL path" in path


@pytest.mark.usefixtures("every_dialect")
def test_what_somebody_wrote_does_nothing_to_the_terminal_of_who_looks(
    stage: Stage, cluster: DevCluster
) -> None:
    evil = "\x1b[2J\x1b]0;owned\x07\u202egnp"
    held = {**ENABLED, "reroll.dev/hold": evil, "reroll.dev/debounce": evil}
    held |= {"reroll.dev/sources": f"secret/{evil}", "reloader.stakater.com/auto": evil}
    web = build.deployment("web", uses="configmap/app", annotations=held)
    stage.make(build.configmap("app"), web)
    admin = ("--kubeconfig", kubeconfig_of(cluster, "admin"))

    def run(*words: str | Path) -> Finished:
        return reroll(*words, "-n", stage.namespace, *admin)

    shown = [
        run("explain", "deployment/web"),
        run("plan"),
        run("plan", "--all"),
        run("history"),
        run("audit"),
        run("graph"),
        run("migrate", "check"),
        run("doctor", "--controller-namespace", stage.namespace),
    ]

    assert "x1b[2J" in shown[0].out
    for done in shown:
        for character in "\x1b\x07\u202e":
            assert character not in done.out + done.err


def test_a_record_with_a_number_at_the_end_of_numbers_is_written_anew(
    stage: Stage, controller: Start
) -> None:
    spoilt = {"v": 1, "n": 2**64 - 1, "at": "2026-01-01T00:00:00Z", "why": "x", "s": {}}
    web = build.deployment(
        "web", uses="configmap/app", annotations={**ENABLED, RECORD: json.dumps(spoilt)}
    )
    stage.make(build.configmap("app"), web)
    running = controller()

    eventually(lambda: stage.record(web)["n"] < 2**53, "it is written anew")
    number = stage.record(web)["n"]
    stage.change("ConfigMap", "app", key="new")
    stage.rolled(web, since=number)

    # The last one that is a number at all: it goes on, and writes no more than it has to.
    last = {**stage.record(web), "n": 2**53}
    stage.annotate(web, state=json.dumps(last))
    before = stage.stamp(web)
    stage.change("ConfigMap", "app", key="newer")
    eventually(lambda: stage.stamp(web) != before, "it rolls all the same")
    written = stage.record(web)
    stage.quiet(web)
    assert stage.record(web) == written
    assert [line for line in running.lines() if line["msg"] == "bug"] == []


HOSTILE = [
    "",
    " ",
    "0",
    "-1",
    "1e999",
    "nan",
    "9" * 400,
    "106751991167h",
    "9999-12-31T23:59:59Z",
    "0001-01-01T00:00:00+23:59",
    "until 9999-12-31T23:59:59Z then",
    "[[[[",
    "*" * 300,
    "(" * 300,
    "configmap/" + "[a" * 100,
    "secret/../../x, configmap/app#../y",
    "{" * 2000,
    '{"n": -1}',
    "null",
    "\u0000\u202e\U0001f4a5",
    "/" * 1000,
    "x" * 20_000,
]
"""Values for every annotation at once, on the workload, its template and its record."""


def test_no_value_of_any_annotation_is_more_than_bad_input(
    stage: Stage, controller: Start, web: Web
) -> None:
    words = [word.key for row in DIALECTS for word in row.words(Options())]
    every = {key for key in words if "/" in key} | {RECORD, "reroll.dev/pins"}
    # What holds a workload back, or makes it new, keeps the others from being read.
    few = every - {"reroll.dev/hold", RECORD}
    hostile = []
    for number, value in enumerate(HOSTILE):
        for keys in (every, few):
            fits = dict.fromkeys(sorted(keys)[: 200_000 // max(1, len(value))], value)
            one = build.deployment(
                f"hostile-{number}-{len(keys)}",
                replicas=0,
                uses="configmap/app",
                annotations={**fits, **ENABLED},
                template_annotations={k: v for k, v in fits.items() if k != RECORD},
            )
            hostile.append(one)
    good = build.deployment("good", replicas=0, uses="configmap/app", annotations=ENABLED)
    stage.make(build.configmap("app"), *hostile, good)
    running = controller(*web.flags)
    number = stage.adopted(good)["n"]
    eventually(lambda: has_looked(web, len(hostile) + 1), "it has looked at all of them")

    stage.change("ConfigMap", "app", key="new")

    stage.rolled(good, since=number)
    assert running.stop() == 0
    assert [line for line in running.lines() if line["msg"] == "bug"] == []
    assert running.said("InvalidAnnotation")
