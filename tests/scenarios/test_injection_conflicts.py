"""Injections that are in somebody's way: nothing flaps, and each is told why."""

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from tests.scenarios.injecting import Injecting, gadget, injection, source, writes
from tests.scenarios.stage import ENABLED, Stage, again, eventually
from tests.support import build
from tests.support.build import Object
from tests.support.tools import Identity

Audit = Callable[[Identity], list[Object]]


def test_the_second_of_two_injections_for_one_field_waits_for_the_first_to_go(
    injecting: Injecting, stage: Stage, audit: Audit
) -> None:
    stage.make(build.secret("s", {"a": "of-a", "b": "of-b"}), gadget("g"))
    first = injection("z-first", source("s", "a"), gadget("g"), ".spec.nested.token")
    # The same place in other words, and a place around it.
    second = injection("a-second", source("s", "b"), gadget("g"), "$.spec['nested'].token")
    around = injection("around", source("s", "b"), gadget("g"), ".spec.nested", encoding="json")
    stage.make(first)
    injecting.run()
    injecting.said(first, "Injected")
    eventually(lambda: _is_older(stage, first), "a second has passed since")
    stage.make(second, around)
    for one in (second, around):
        said = injecting.said(one, "Claimed", "Conflict")
        assert said == (
            f"True: Injection {stage.namespace}/z-first came first and already writes to "
            f".spec.nested.token of Gadget {stage.namespace}/g"
        )
        assert injecting.condition(one)["status"] == "False"
    assert stage.get(gadget("g"))["spec"] == {"nested": {"token": "of-a"}}
    assert len(writes(audit(injecting.kubeconfig), "gadgets")) == 1

    stage.api.delete(stage.path(first))
    injecting.holds(gadget("g"), "of-b", "spec", "nested", "token")
    injecting.said(second, "Injected")
    injecting.said(around, "Claimed", words="a-second")


def _is_older(stage: Stage, one: Object) -> bool:
    """Whether what is made now has a later time, of which Kubernetes keeps whole seconds."""
    probe = build.configmap("probe")
    now = stage.make(probe)["metadata"]["creationTimestamp"]
    stage.api.delete(stage.path(probe))
    return bool(now > stage.get(one)["metadata"]["creationTimestamp"])


def test_a_field_that_somebody_takes_back_is_left_to_them_after_a_few_tries(
    injecting: Injecting, stage: Stage, audit: Audit
) -> None:
    one = injection("one", source("s", "k"), gadget("g"), ".spec.token")
    stage.make(build.secret("s", {"k": "ours"}), gadget("g", token="theirs"), one)
    running = injecting.run()
    for _ in range(3):
        injecting.holds(gadget("g"), "ours", "spec", "token")
        injecting.said(one, "Injected")
        _take_back(stage)
    injecting.holds(gadget("g"), "ours", "spec", "token")
    eventually(lambda: stage.get(one)["status"]["takenBack"] == 3, "it is counted")
    _take_back(stage)
    said = injecting.said(one, "TakenBack", "Conflict")
    assert said.startswith(
        f"True: .spec.token of Gadget {stage.namespace}/g was taken back 4 times and is now owned "
        "by gitops"
    )
    tried = len(writes(audit(injecting.kubeconfig), "gadgets"))
    assert tried == 4

    # Neither a restart nor another write of theirs begins it anew.
    again(running)
    _take_back(stage, "other")
    injecting.said(one, "TakenBack", "Conflict")
    stage.api.patch(stage.path(gadget("g")), {"spec": {"mode": "fast"}})
    running.wait_for(lambda line: line.get("reason") == "TakenBack", since=0)
    assert len(writes(audit(injecting.kubeconfig), "gadgets")) == tried
    assert stage.get(gadget("g"))["spec"]["token"] == "other"

    # What does is another value: somebody wants that in the field.
    stage.change("Secret", "s", k="newer")
    injecting.holds(gadget("g"), "newer", "spec", "token")
    assert injecting.said(one, "NoConflict", "Conflict").startswith("False")
    assert "takenBack" not in stage.get(one)["status"]


def _take_back(stage: Stage, value: str = "theirs") -> None:
    path = stage.path(gadget("g"))
    stage.api.patch(path, {"spec": {"token": value}}, fieldManager="gitops")


@pytest.mark.parametrize("chain", [1, 3])
def test_an_injection_that_would_come_back_to_its_source_is_not_begun(
    injecting: Injecting, stage: Stage, chain: int
) -> None:
    """Directly, or by way of others."""
    allowed = {"reroll.dev/injection-writers": stage.namespace}
    maps = [build.configmap(f"c{n}", {"k": "1"}, annotations=allowed) for n in range(chain)]
    links = [
        injection(f"i{n}", source(f"c{n}", "k", "ConfigMap"), maps[(n + 1) % chain], ".data.back")
        for n in range(chain)
    ]
    stage.make(*maps, *links)
    injecting.run()
    for one in links:
        said = injecting.said(one, "Loop")
        assert said.startswith("False: it reads ConfigMap ")
        assert said.count("ConfigMap") == chain + 1
    assert all("back" not in stage.get(one)["data"] for one in maps)

    if chain > 1:
        # With one of them gone there is no way back, and the others go on.
        stage.api.delete(stage.path(links[0]))
        injecting.said(links[1], "Injected")
        injecting.holds(maps[2], "1", "data", "back")


def test_a_value_in_a_source_of_a_workload_rolls_it_and_that_is_said(
    injecting: Injecting, stage: Stage
) -> None:
    allowed = {"reroll.dev/injection-writers": stage.namespace}
    app = build.configmap("app", {"own": "1"}, annotations=allowed)
    web = build.deployment("web", uses="configmap/app", annotations=ENABLED)
    one = injection("one", source("s", "k"), app, ".data.token")
    stage.make(build.secret("s", {"k": "first"}), app, web)
    injecting.run()
    number = stage.adopted(web)["n"]
    stage.make(one)
    injecting.holds(app, "first", "data", "token")
    said = injecting.said(one, "Injected")
    assert said.endswith(f", which is a source of Deployment {stage.namespace}/web")
    assert stage.rolled(web, since=number)["keys"] == ["token"]


def test_what_is_not_of_its_namespace_must_let_an_injection_use_it(
    injecting: Injecting, stage: Stage, another: Callable[..., Stage]
) -> None:
    there = another()
    fleet = {**gadget(f"fleet-{stage.namespace}"), "kind": "Fleet"}
    abroad = gadget("abroad")
    there.make(build.secret("s", {"k": "theirs"}), abroad)
    stage.make(build.secret("s", {"k": "ours"}), gadget("g"), build.configmap("plain"))
    stage.api.create(fleet)
    path = stage.path(fleet).replace(f"/namespaces/{stage.namespace}", "")
    elsewhere = source("s", "k", namespace=there.namespace)
    key, away = source("s", "k"), {"namespace": there.namespace}
    reads = injection("reads", elsewhere, gadget("g"), ".spec.token")
    writes_away = injection("writes", key, abroad, ".spec.token", place=away)
    writes_all = injection("fleet", key, fleet, ".spec.token")
    own = injection("own", key, build.configmap("plain"), ".data.token")
    made = (reads, writes_away, writes_all, own)
    stage.make(*made)
    injecting.run()
    consents = {"reads": "injection-readers"}
    for one in made:
        said = injecting.said(one, "NotAllowed", "Forbidden")
        consent = consents.get(one["metadata"]["name"], "injection-writers")
        assert f"its owner must annotate it with reroll.dev/{consent}: '{stage.namespace}'" in said
    assert "token" not in there.get(abroad)["spec"]

    reads_it, writes_it = (
        {"metadata": {"annotations": {f"reroll.dev/{consent}": f"other, {stage.namespace}"}}}
        for consent in ("injection-readers", "injection-writers")
    )
    there.api.patch(there.path(build.secret("s")), reads_it)
    there.api.patch(there.path(abroad), writes_it)
    stage.api.patch(path, writes_it)
    stage.api.patch(stage.path(build.configmap("plain")), writes_it)
    for one in made:
        injecting.said(one, "Injected")
    assert there.get(abroad)["spec"]["token"] == "ours"
    assert stage.api.get(path)["spec"]["token"] == "ours"
    assert stage.get(gadget("g"))["spec"]["token"] == "theirs"
    stage.api.delete(path)


def test_a_custom_kind_that_rolls_must_let_injections_write_to_it(
    injecting: Injecting, stage: Stage, tmp_path: Path
) -> None:
    """The controller may patch it for another reason than Injections."""
    row = {"group": "example.com", "version": "v1", "kind": "Gadget", "resource": "gadgets"}
    file = tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump({"kinds": [{**row, "template": "spec.free"}]}))
    one = injection("one", source("s", "k"), gadget("g"), ".spec.token")
    stage.make(build.secret("s", {"k": "value"}), gadget("g"), one)
    injecting.run("--config", str(file))
    injecting.said(one, "NotAllowed", "Forbidden")
    stage.annotate(gadget("g"), injection_writers=stage.namespace)
    injecting.holds(gadget("g"), "value", "spec", "token")
