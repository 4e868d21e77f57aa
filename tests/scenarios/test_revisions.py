"""Revisions: copies first, pins after, the same content the same name, owned by who names them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.scenarios.pins import Installation, sources_of
from tests.scenarios.revised import REVISIONS, contents, copies, owned_right, pin, pinned_anew, pins
from tests.scenarios.stage import Controller, Stage, a, alone, eventually
from tests.support import build
from tests.support.faultproxy import FaultProxy
from tests.support.faults import ALL_OF_THEM, Answer, Cut, Match

from reroll.core.tables.kinds import KINDS, Kind
from reroll.core.tables.reasons import Reason
from reroll.settings.table import Settings
from reroll_dev.api import path_to

Start = Callable[..., Controller]
PINNED = [kind for kind in KINDS if not kind.fixed]
for_pinned_kinds = pytest.mark.parametrize(
    "kind", PINNED, ids=[kind.name for kind in PINNED], indirect=True
)
DEPLOYMENT = KINDS[0]


@for_pinned_kinds
def test_copies_come_first_and_pins_after_and_content_that_comes_back_has_the_same_ones(
    stage: Stage,
    controller: Start,
    kind: Kind,
    reroll_kubeconfig: Path,
    audit: Callable[[Path], list[dict[str, Any]]],
) -> None:
    web = a(kind, uses=["configmap/app", "secret/db"], annotations=REVISIONS)
    files = {"binaryData": {"logo": build.encode("\x00\x01")}, "labels": {"team": "shop"}}
    stage.make(
        build.configmap("app", {"key": "first"}, annotations={"a": "b"}, **files),
        build.secret("db", type="example.com/login"),
        web,
    )
    alone(controller)
    first, db = pin(stage, web), pin(stage, web, "Secret", "db")
    stage.change("ConfigMap", "app", key="second")
    second = pinned_anew(stage, web, first)
    stage.change("Secret", "db", password="other")
    other = pinned_anew(stage, web, db, name="db")
    stage.change("Secret", "db", password="hunter2")
    stage.change("ConfigMap", "app", key="first")
    eventually(lambda: pins(stage, web) == {("ConfigMap", "app"): first, ("Secret", "db"): db})

    adopted, pinned, changed = ["patch"], [first, db, "patch"], [second, "patch", other, "patch"]
    assert _writes(audit(reroll_kubeconfig), kind)[:8] == adopted + pinned + changed
    found = copies(stage)
    assert found[first]["immutable"] is found[db]["immutable"] is True
    assert found[first]["data"] == {"key": "first"}
    assert found[first]["binaryData"] == files["binaryData"]
    assert found[db]["type"] == "example.com/login"
    metadata = found[first]["metadata"]
    assert metadata["labels"] == {
        "reroll.dev/copy-of": "app",
        "app.kubernetes.io/managed-by": "reroll",
    }
    assert "annotations" not in metadata
    [event] = eventually(lambda: stage.events(web, "Pinned"), "an Event tells of the first pin")
    assert event["message"] == f"{Reason.PINNED.sentence}: configmap/app, secret/db"
    if kind.revisions:
        owned_right(stage, web)


def _writes(calls: list[dict[str, Any]], kind: Kind) -> list[str]:
    """The copies that were made and the writes of the workload, in their order."""
    found = []
    for call in calls:
        what, done = call["objectRef"], call["responseStatus"]["code"] < 300
        if done and call["verb"] == "create" and what["resource"] in {"configmaps", "secrets"}:
            found.append(what["name"])
        elif done and call["verb"] == "patch" and what["resource"] == kind.plural:
            found.append("patch")
    own = (Settings().digest_key, f"{Settings().lease}-records-")
    return [one for one in found if not one.startswith(own)]


def test_what_needs_no_copy_gets_none_and_ten_workloads_share_one(
    stage: Stage, controller: Start
) -> None:
    uses = ["configmap/app", "configmap/fixed", "secret/later?"]
    webs = [
        build.deployment(f"web-{n}", replicas=0, uses=uses, annotations=REVISIONS) for n in range(9)
    ]
    webs.append(build.statefulset("set", replicas=0, uses=uses, annotations=REVISIONS))
    stage.make(
        build.configmap("app", {"key": "first"}),
        build.configmap("fixed", {"key": "for ever"}, immutable=True),
        *webs,
    )
    alone(controller)

    found = {pin(stage, web) for web in webs}
    assert len(found) == len(copies(stage)) == 1
    assert all(pins(stage, web).keys() == {("ConfigMap", "app")} for web in webs)
    names = {web["metadata"]["name"] for web in webs}

    def owned() -> bool:
        (copy,) = copies(stage).values()
        return names <= {owner["name"] for owner in copy["metadata"]["ownerReferences"]}

    eventually(owned, "all ten own it")
    stage.make(build.secret("later", {"key": "there"}))
    assert len({pin(stage, web, "Secret", "later") for web in webs}) == 1
    assert len(copies(stage)) == 2


def test_pods_of_an_old_revision_start_with_its_old_content(
    stage: Stage, controller: Start
) -> None:
    """A rollout that does not come to its end, and old pods that are lost meanwhile."""
    web = build.deployment("web", replicas=2, uses="configmap/app", annotations=REVISIONS)
    stage.make(build.configmap("app", {"key": "first"}), web)
    alone(controller)
    first = pin(stage, web)
    stage.settled(web)
    stage.api.patch(
        stage.path(web),
        {"spec": {"template": {"metadata": {"annotations": {build.FAIL: "unready"}}}}},
    )
    stage.change("ConfigMap", "app", key="second")
    second = pinned_anew(stage, web, first)

    def names() -> list[str]:
        return sorted(name for pod in stage.pods(web) for name in contents(stage, pod))

    eventually(lambda: {first, second} == set(names()), "both revisions have pods")
    old = [pod for pod in stage.pods(web) if first in contents(stage, pod)]
    for pod in old:
        stage.api.delete(path_to("Pod", pod["metadata"]["name"], stage.namespace))
    stage.api.patch(stage.path(web), {"spec": {"replicas": 4}})

    def replaced() -> bool:
        gone = {pod["metadata"]["uid"] for pod in old}
        fresh = [p for p in stage.pods(web) if p["metadata"]["uid"] not in gone]
        return sum(first in contents(stage, pod) for pod in fresh) >= 2

    eventually(replaced, "old pods come back with the old content")
    for pod in stage.pods(web):
        assert contents(stage, pod) in ({first: {"key": "first"}}, {second: {"key": "second"}})


def test_a_namespace_says_it_for_all_and_what_rewrites_pods_there_decides_how(
    stage: Stage, controller: Start, installation: Installation
) -> None:
    """Names are written where nothing rewrites pods; and taken out again once something does."""
    web = build.deployment("web", uses="configmap/app")
    says = {"reroll.dev/enabled": "true", "reroll.dev/revisions": "true"}
    labels = {"reroll.dev/pins": "disabled"}
    here = path_to("Namespace", stage.namespace)
    stage.api.patch(here, {"metadata": {"annotations": says, "labels": labels}})
    assert installation.install().code == 0
    stage.make(build.configmap("app", {"key": "first"}), web)
    alone(controller)
    first = pin(stage, web)
    assert sources_of(stage.template(web)["spec"]) == {("ConfigMap", first)}

    stage.api.patch(here, {"metadata": {"labels": {"reroll.dev/pins": None}}})
    stage.change("ConfigMap", "app", key="second")
    second = pinned_anew(stage, web, first)
    assert sources_of(stage.template(web)["spec"]) == {("ConfigMap", "app")}
    stage.settled(web)
    (pod,) = eventually(lambda: stage.pods(web))
    assert contents(stage, pod) == {second: {"key": "second"}}


def test_a_watch_that_is_refused_for_a_moment_costs_no_pin_and_hides_nothing(
    stage: Stage, controller: Start, fault_proxy: FaultProxy, reroll_kubeconfig: Path
) -> None:
    uses = ["configmap/app", "secret/db"]
    web, late = (
        build.deployment(name, replicas=0, uses=uses, annotations=REVISIONS)
        for name in ("web", "late")
    )
    stage.make(build.configmap("app", {"key": "first"}), build.secret("db"), web)
    kubeconfig = fault_proxy.kubeconfig(reroll_kubeconfig)
    alone(lambda *flags, **more: controller(*flags, kubeconfig=kubeconfig, **more))
    first, db = pin(stage, web), pin(stage, web, "Secret", "db")
    watching = Match(path="/configmaps$", watch=True, query=ALL_OF_THEM)
    fault_proxy.inject_in_turn(watching, Cut(in_event=1), Answer(403))
    stage.make(build.configmap("other"))
    fault_proxy.wait_for("Answer", watching)

    stage.change("Secret", "db", password="other")
    pinned_anew(stage, web, db, name="db")
    assert pins(stage, web)["ConfigMap", "app"] == first

    stage.make(late)
    assert pin(stage, late) == first, "it is read once that is allowed"
    stage.change("ConfigMap", "app", key="second")
    assert pinned_anew(stage, web, first) == pinned_anew(stage, late, first)


def test_a_change_of_keys_that_do_not_matter_makes_no_copy_until_they_do(
    stage: Stage, controller: Start
) -> None:
    web = build.deployment("web", replicas=0, uses="configmap/app#key", annotations=REVISIONS)
    stage.make(build.configmap("app", {"key": "first", "other": "1"}), web)
    alone(controller)
    first = pin(stage, web)
    stage.change("ConfigMap", "app", other="2")
    stage.quiet(web)
    assert copies(stage).keys() == {first}

    stage.api.patch(
        stage.path(web),
        {
            "spec": {
                "template": {
                    "spec": {"containers": [{"name": "main", "envFrom": [_env_from(first)]}]}
                }
            }
        },
        "strategic",
    )
    second = pinned_anew(stage, web, first)
    assert copies(stage)[second]["data"] == {"key": "first", "other": "2"}


def _env_from(name: str) -> build.Object:
    return {"configMapRef": {"name": name}}


PAGE = Path(__file__).parents[2] / "docs" / "concepts" / "revisions.md"


@pytest.mark.parametrize("mode", ["admission", "template"])
def test_one_revision_costs_the_calls_and_objects_that_the_docs_state(
    stage: Stage,
    controller: Start,
    reroll_kubeconfig: Path,
    audit: Callable[[Path], list[dict[str, Any]]],
    mode: str,
) -> None:
    web = build.deployment(
        "web",
        replicas=0,
        uses=["configmap/app", "secret/db"],
        annotations={**REVISIONS, "reroll.dev/pin": mode},
    )
    stage.make(build.configmap("app", {"key": "first"}), build.secret("db"), web)
    alone(controller)
    before = pin(stage, web), pin(stage, web, "Secret", "db")
    for number, (kind, name) in enumerate((("ConfigMap", "app"), ("Secret", "db"))):
        found = owned_right(stage, web)
        stage.settled(web)
        stage.quiet(web)
        calls = len(audit(reroll_kubeconfig))
        stage.change(kind, name, key="second")
        pinned_anew(stage, web, before[number], name=name)
        assert len(owned_right(stage, web)) == len(found) + 1
        stage.settled(web)
        stage.quiet(web)
        made = [call for call in audit(reroll_kubeconfig)[calls:] if _counts(call)]
        stated = _stated(f"calls in mode `{mode}`")[number]
        assert len(made) == stated, [f"{c['verb']} {c['objectRef']['resource']}" for c in made]


def _counts(call: dict[str, Any]) -> bool:
    """Watches are there anyway, and which rights there are is asked now and then."""
    return call["verb"] != "watch" and call["objectRef"]["resource"] != "selfsubjectaccessreviews"


def _stated(row: str) -> list[int]:
    """The numbers of a row of the table on the page."""
    line = next(line for line in PAGE.read_text().splitlines() if line.startswith(f"| {row}"))
    return [int(cell) for cell in line.strip("|").split("|")[1:]]
