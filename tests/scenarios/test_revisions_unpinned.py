"""Sources with `revisions: "false"`: workloads with revisions roll for them, without a copy."""

from collections.abc import Callable

from tests.scenarios.revised import REVISIONS, copies, pin, pins
from tests.scenarios.stage import ENABLED, Controller, Stage, a, alone, eventually
from tests.support import build
from tests.support.build import Object

from reroll.core.tables.kinds import KINDS
from reroll_dev.api import path_to

Start = Callable[..., Controller]
NEVER_PINNED = {"reroll.dev/revisions": "false"}
DEPLOYMENT = KINDS[0]


def names(stage: Stage, workload: Object) -> list[str]:
    """The sources that its template names, as it names them."""
    [container] = stage.template(workload)["spec"]["containers"]
    return [one[field]["name"] for one in container["envFrom"] for field in one]


def test_a_source_that_is_never_pinned_rolls_its_users_and_has_no_copy(
    stage: Stage, controller: Start
) -> None:
    web = a(DEPLOYMENT, uses=["configmap/app", "secret/db"], annotations=REVISIONS)
    stage.make(build.configmap("app"), build.secret("db", annotations=NEVER_PINNED), web)
    alone(controller)
    first = pin(stage, web)
    assert pins(stage, web) == {("ConfigMap", "app"): first}
    assert names(stage, web) == [first, "db"]

    number = stage.record(web)["n"]
    stage.change("Secret", "db", password="other")
    stage.rolled(web, since=number)
    assert stage.record(web)["by"] == ["secret/db"]
    assert pins(stage, web) == {("ConfigMap", "app"): first}
    assert names(stage, web) == [first, "db"]
    assert copies(stage, "db") == {}


def test_a_pin_goes_with_the_next_roll_when_the_annotation_comes_later(
    stage: Stage, controller: Start
) -> None:
    web = a(DEPLOYMENT, uses=["configmap/app", "secret/db"], annotations=REVISIONS)
    other = a(DEPLOYMENT, "other", uses="secret/db", annotations=REVISIONS)
    last = a(DEPLOYMENT, "last", uses="secret/last", annotations=ENABLED)
    stage.make(build.configmap("app"), build.secret("db"), build.secret("last"), web, other, last)
    alone(controller)
    before = stage.adopted(last)["n"]
    first, db = pin(stage, web), pin(stage, web, "Secret", "db")
    assert names(stage, web) == [first, db]
    assert pin(stage, other, "Secret", "db") == db
    number = stage.record(web)["n"]

    annotated = {"metadata": {"annotations": NEVER_PINNED}}
    stage.api.patch(path_to("Secret", "db", stage.namespace), annotated)
    # ConfigMaps are watched beside Secrets: who has heard of a later Secret knows the annotation.
    stage.change("Secret", "last", password="new")
    stage.rolled(last, since=before)
    stage.change("ConfigMap", "app", key="new")
    stage.rolled(web, since=number)
    eventually(lambda: names(stage, web)[1] == "db", "its template names the Secret itself")
    assert pins(stage, web).keys() == {("ConfigMap", "app")}
    # The annotation itself rolls nothing.
    assert names(stage, other) == [db]

    number = stage.record(other)["n"]
    stage.change("Secret", "db", password="other")
    stage.rolled(other, since=number)
    assert (names(stage, other), pins(stage, other)) == (["db"], {})
