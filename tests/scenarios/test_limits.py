"""Objects as large and hostile as the API server takes them: other namespaces notice nothing.

What each limit is about is tested without a cluster: tests/core/policy/test_limits.py and
tests/engine/test_bounds.py.
"""

import json
from collections.abc import Callable

import pytest
from tests.core.policy.test_limits import wall
from tests.scenarios.pins import Installation, pod, sources_of
from tests.scenarios.stage import ENABLED, Controller, Stage, Web, eventually
from tests.support import build
from tests.support.command import reroll
from tests.support.tools import kubeconfig_of

from reroll.core.revisions.pins import write_pins
from reroll.core.tables import limits
from reroll_dev.api import path_to
from reroll_dev.cluster import DevCluster

Start = Callable[..., Controller]
RELOAD = "configmap.reloader.stakater.com/reload"
HALF = 120 * 1024
WALLS = {
    "foreign": {"reroll.dev/sources": wall("cm/no-such-namespace/{}")},
    "both": {"reroll.dev/sources": wall("cm/{}", HALF), "reroll.dev/ignore": wall("cm/{}x", HALF)},
    "names": {"reroll.dev/sources": wall("cm/{}")},
    "globs": {"reroll.dev/sources": wall("cm/{}*")},
    "bad": {"reroll.dev/sources": wall("{}/")},
    "regexes": {RELOAD: wall("(?:(?:[a-z]?){{30}}){{30}}-{}")},
}


@pytest.mark.usefixtures("every_dialect")
def test_annotations_of_250_kilobytes_cost_their_namespace_a_sentence_and_others_nothing(
    stage: Stage, controller: Start, another: Callable[[], Stage], web: Web, cluster: DevCluster
) -> None:
    hostile = another()
    walls = {
        name: build.deployment(
            name, replicas=0, uses="configmap/app", annotations={**ENABLED, **said}
        )
        for name, said in WALLS.items()
    }
    long_name = build.configmap("a" * 250)
    hostile.make(build.configmap("app"), long_name, *walls.values())
    quiet = build.deployment("quiet", replicas=0, uses="configmap/app", annotations=ENABLED)
    stage.make(build.configmap("app"), quiet)
    both = f"kubernetes.io/metadata.name in ({stage.namespace}, {hostile.namespace})"
    running = controller(*web.flags, "--namespace-selector", both)
    number = stage.adopted(quiet)["n"]
    numbers = {name: hostile.adopted(one)["n"] for name, one in walls.items()}

    for turn in range(3):
        hostile.change("ConfigMap", "a" * 250, key=str(turn))
        hostile.change("ConfigMap", "app", key=str(turn))
        stage.change("ConfigMap", "app", key=str(turn))
        number = stage.rolled(quiet, since=number)["n"]
    for name, one in walls.items():
        hostile.rolled(one, since=numbers[name])
        [told] = eventually(lambda o=one: hostile.events(o, "TooManyPatterns"), name)
        assert "not count" in told["message"]
        every = hostile.events(one)
        problems = [event for event in every if event["type"] == "Warning"]
        assert len({event["reason"] for event in problems}) == len(problems) <= 3, name
    assert stage.events(quiet, "TooManyPatterns") == []
    assert [line for line in running.lines() if line["msg"] == "bug"] == []

    done = reroll(
        *("explain", "deployment/bad", "-n", hostile.namespace, "-o", "json"),
        *("--kubeconfig", kubeconfig_of(cluster, "admin")),
        *("--controller-namespace", stage.namespace),
    )
    warnings = json.loads(done.out)["warnings"]
    assert any("has more than 200 items" in sentence for sentence in warnings)
    assert len(warnings) == limits.PROBLEMS.number + 1


@pytest.mark.slow
def test_a_change_of_any_of_very_many_keys_rolls_and_one_key_rolls_who_names_it(
    stage: Stage, controller: Start
) -> None:
    keys = {f"k{number}": "x" for number in range(20_000)}
    every = build.deployment("every", replicas=0, uses="configmap/wide", annotations=ENABLED)
    one = build.deployment("one", replicas=0, annotations=ENABLED)
    [container] = one["spec"]["template"]["spec"]["containers"]
    reference = {"configMapKeyRef": {"name": "wide", "key": "k1"}}
    container["env"] = [{"name": "ONE", "valueFrom": reference}]
    stage.make(build.configmap("wide", keys), every, one)
    controller()
    numbers = {name: stage.adopted(each)["n"] for name, each in (("every", every), ("one", one))}

    stage.change("ConfigMap", "wide", k7="new")
    number = stage.rolled(every, since=numbers["every"])["n"]
    stage.quiet(one)
    assert stage.stamp(one) is None

    stage.change("ConfigMap", "wide", k1="new")
    stage.rolled(every, since=number)
    stage.rolled(one, since=numbers["one"])


@pytest.mark.parametrize(("variables", "copies"), [(300, 100), (1000, 300)])
def test_a_pod_of_very_many_pinned_variables_starts_under_the_policy(
    stage: Stage, installation: Installation, variables: int, copies: int
) -> None:
    assert installation.install("--mode", "policy").code == 0
    pins = {("ConfigMap", f"source-{n}"): f"source-{n}-{n:010}" for n in range(copies)}
    spec = build.pod_template("web")["spec"]
    spec["containers"][0]["env"] = [
        {
            "name": f"V{n}",
            "valueFrom": {"configMapKeyRef": {"name": f"source-{n % copies}", "key": "a"}},
        }
        for n in range(variables)
    ]
    stage.make(pod(spec, write_pins(pins)))
    made = stage.api.get(path_to("Pod", "pod", stage.namespace))
    assert {name for _, name in sources_of(made["spec"])} >= set(pins.values())
