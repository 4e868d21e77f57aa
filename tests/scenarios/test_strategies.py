"""How a workload gets its new configuration, for every kind that can do it that way.

Evictions have a file of their own, and so have the ways of Jobs and CronJobs.
"""

from collections.abc import Callable
from datetime import datetime

from tests.scenarios.listener import ADDRESS, Listener
from tests.scenarios.stage import ENABLED, STAMP, Controller, Stage, a, eventually, for_kinds
from tests.support import build

from reroll.core.tables.kinds import KINDS, Kind, Strategy

Start = Callable[..., Controller]
RESTARTED_AT = "kubectl.kubernetes.io/restartedAt"


def by(strategy: str, **more: str) -> dict[str, str]:
    """Annotations that opt in and ask for a strategy."""
    asked = {f"reroll.dev/{key.replace('_', '-')}": value for key, value in more.items()}
    return {**ENABLED, "reroll.dev/strategy": strategy, **asked}


def adopt(stage: Stage, controller: Start, web: build.Object) -> int:
    """A workload with its ConfigMap, adopted and running; the number of its record."""
    stage.make(build.configmap("app"), web)
    controller()
    stage.settled(web)
    return int(stage.adopted(web)["n"])


def heard_of_it(stage: Stage) -> None:
    """The controller knows it as it is now: it knows one that was made later.

    Sources come to it in another stream, and may come first.
    """
    later = build.deployment("later", uses="configmap/app", annotations=ENABLED)
    stage.make(later)
    stage.adopted(later)


def annotations(stage: Stage, web: build.Object) -> dict[str, str]:
    found: dict[str, str] = stage.template(web)["metadata"].get("annotations", {})
    return found


@for_kinds(Strategy.STAMP)
def test_stamp_writes_one_annotation_on_the_template_and_all_pods_get_it(
    stage: Stage, controller: Start, kind: Kind
) -> None:
    web = a(kind, uses="configmap/app", annotations=by("stamp"))
    first = adopt(stage, controller, web)

    stage.change("ConfigMap", "app", key="new")

    stage.rolled(web, since=first)
    stage.settled(web)
    stamp = annotations(stage, web)
    assert set(stamp) == {STAMP}
    assert {pod["metadata"]["annotations"][STAMP] for pod in stage.pods(web)} == {stamp[STAMP]}


@for_kinds(Strategy.ENV)
def test_env_sets_one_variable_and_a_second_roll_replaces_its_value(
    stage: Stage, controller: Start, kind: Kind
) -> None:
    env = [{"name": "FIRST", "value": "1"}]
    web = a(kind, uses="configmap/app", annotations=by("env"), env=env)
    number = adopt(stage, controller, web)
    values = []

    for content in ("two", "three"):
        stage.change("ConfigMap", "app", key=content)
        number = stage.rolled(web, since=number)["n"]
        stage.settled(web)
        variables = stage.template(web)["spec"]["containers"][0]["env"]
        assert [variable["name"] for variable in variables] == ["FIRST", "REROLL_CONFIG_HASH"]
        values.append(variables[1]["value"])
        for pod in stage.pods(web):
            assert pod["spec"]["containers"][0]["env"] == variables

    assert len(set(values)) == 2
    assert len(stage.revisions(web)) == 3
    assert STAMP not in annotations(stage, web)


@for_kinds(Strategy.RESTART)
def test_restart_writes_what_kubectl_rollout_restart_writes(
    stage: Stage, controller: Start, kind: Kind
) -> None:
    web = a(kind, uses="configmap/app", annotations=by("restart"))
    first = adopt(stage, controller, web)
    old = {pod["metadata"]["uid"] for pod in stage.pods(web)}

    stage.change("ConfigMap", "app", key="new")

    stage.rolled(web, since=first)
    eventually(
        lambda: old.isdisjoint(pod["metadata"]["uid"] for pod in stage.pods(web)),
        "every pod is a new one",
    )
    stage.settled(web)
    if kind.restart_at:
        assert stage.get(web)["spec"]["restartAt"]
        assert annotations(stage, web) == {}
    else:
        written = annotations(stage, web)
        assert set(written) == {RESTARTED_AT}
        assert datetime.fromisoformat(written[RESTARTED_AT]).tzinfo
        assert len(stage.revisions(web)) == 2


@for_kinds(Strategy.NOTIFY)
def test_notify_tells_and_touches_neither_template_nor_pods(
    stage: Stage, controller: Start, kind: Kind
) -> None:
    slow = {"dev.reroll.dev/complete-after": "1h"}
    annotated = by("notify")
    web = a(kind, uses="configmap/app", annotations=annotated, template_annotations=slow)
    stage.make(build.configmap("app"), web)
    controller()
    first = stage.adopted(web)
    before = stage.get(web)

    stage.change("ConfigMap", "app", key="new")

    event = eventually(lambda: stage.events(web, "ConfigChanged"), "an Event tells of it")[0]
    assert "configmap/app" in event["message"]
    assert stage.rolled(web, since=first["n"])["by"] == ["configmap/app"]
    stage.quiet(web)
    after = stage.get(web)
    assert after["spec"] == before["spec"]
    assert after["metadata"]["uid"] == before["metadata"]["uid"]


def reloading(kind: Kind, listener: Listener) -> build.Object:
    asked = by(
        "reload", reload_port=str(listener.port), reload_path="/config/read", reload_again="0s"
    )
    here = {"dev.reroll.dev/address": ADDRESS}
    several = {} if kind.name == "DaemonSet" else {"replicas": 3}
    return a(kind, mounts="configmap/app", annotations=asked, template_annotations=here, **several)


@for_kinds(Strategy.RELOAD)
def test_reload_asks_every_pod_until_it_says_yes_and_replaces_none(
    stage: Stage, controller: Start, kind: Kind, listener: Listener
) -> None:
    web = reloading(kind, listener)
    first = adopt(stage, controller, web)
    pods = stage.pods(web)
    assert {pod["status"]["podIP"] for pod in pods} == {ADDRESS}
    listener.says = [503, 301]

    stage.change("ConfigMap", "app", key="new")

    assert stage.rolled(web, since=first)["todo"]["do"] == "reload"
    eventually(lambda: "todo" not in stage.record(web), "every pod was asked")
    assert set(listener.asked) == {("POST", "/config/read")}
    assert sorted(listener.answered) == [204] * len(pods) + [301, 503]
    uids = {pod["metadata"]["uid"] for pod in pods}
    assert {pod["metadata"]["uid"] for pod in stage.pods(web)} == uids
    assert STAMP not in annotations(stage, web)


def test_reload_asks_each_pod_again_when_the_kubelet_has_brought_the_files(
    stage: Stage, controller: Start, listener: Listener
) -> None:
    web = reloading(KINDS[0], listener)
    web["metadata"]["annotations"]["reroll.dev/reload-again"] = "3s"
    first = adopt(stage, controller, web)

    stage.change("ConfigMap", "app", key="new")

    stage.rolled(web, since=first)
    eventually(lambda: len(listener.answered) >= 3, "every pod accepted it")
    # It is not done with that; where this looks late, the second time may be over already.
    assert "todo" in stage.record(web) or len(listener.answered) == 6
    eventually(lambda: "todo" not in stage.record(web), "every pod was asked again")
    assert listener.answered == [204] * 6


def test_reload_of_what_is_in_the_environment_is_refused_until_another_strategy_is_chosen(
    stage: Stage, controller: Start, listener: Listener
) -> None:
    asked = by("reload", reload_port=str(listener.port))
    web = build.deployment(uses="configmap/app", annotations=asked)
    first = adopt(stage, controller, web)

    stage.change("ConfigMap", "app", key="new")

    event = eventually(lambda: stage.events(web, "OutOfReach"), "an Event says why")[0]
    assert "use another strategy: envFrom of container main" in event["message"]
    stage.quiet(web)
    assert (stage.record(web)["n"], listener.asked) == (first, [])

    stage.annotate(web, strategy="stamp")
    stage.rolled(web, since=first)


def test_reload_asks_again_for_a_change_that_comes_while_some_pods_refuse(
    stage: Stage, controller: Start, listener: Listener
) -> None:
    asked = by("reload", reload_port=str(listener.port), reload_again="0s")
    here = {"dev.reroll.dev/address": ADDRESS}
    web = build.deployment(
        mounts="configmap/app", annotations=asked, template_annotations=here, replicas=2
    )
    number = adopt(stage, controller, web)
    # Of the first change one pod wants to hear nothing.
    listener.says = [204, *[503] * 20]
    stage.change("ConfigMap", "app", key="new")
    number = stage.rolled(web, since=number)["n"]
    eventually(lambda: 503 in listener.answered, "a pod refused")

    stage.change("ConfigMap", "app", key="newer")
    stage.rolled(web, since=number)
    before = len(listener.answered)
    listener.says = []

    eventually(lambda: "todo" not in stage.record(web), "every pod was asked")
    assert listener.answered[before:].count(204) == 2


def test_reload_goes_on_after_a_kill_and_tells_who_refuses(
    stage: Stage, controller: Start, listener: Listener
) -> None:
    asked = by("reload", reload_port=str(listener.port), reload_again="0s")
    here = {"dev.reroll.dev/address": ADDRESS}
    web = build.deployment(mounts="configmap/app", annotations=asked, template_annotations=here)
    stage.make(build.configmap("app"), web)
    running = controller()
    stage.settled(web)
    number = stage.adopted(web)["n"]
    listener.says = [503] * 1000
    stage.change("ConfigMap", "app", key="new")
    stage.rolled(web, since=number)
    event = eventually(lambda: stage.events(web, "ReloadRefused"), "an Event says who")[0]
    assert f"http://{ADDRESS}:{listener.port}/-/reload: answered 503" in event["message"]

    running.kill()
    listener.says = []
    running.start()

    eventually(lambda: "todo" not in stage.record(web), "every pod was asked")
    assert 204 in listener.answered


def test_a_paused_deployment_holds_with_a_reason_and_rolls_once_when_it_resumes(
    stage: Stage, controller: Start
) -> None:
    web = build.deployment(uses="configmap/app", annotations=ENABLED)
    first = adopt(stage, controller, web)
    stage.api.patch(stage.path(web), {"spec": {"paused": True}})
    heard_of_it(stage)

    stage.change("ConfigMap", "app", key="new")
    eventually(lambda: stage.events(web, "Paused"), "an Event says that it is held")
    stage.quiet(web)
    assert stage.record(web)["n"] == first

    stage.api.patch(stage.path(web), {"spec": {"paused": False}})
    stage.rolled(web, since=first)
    stage.settled(web)
    stage.quiet(web)
    assert len(stage.revisions(web)) == 2


def test_a_template_that_takes_effect_with_the_resume_is_the_only_roll(
    stage: Stage, controller: Start
) -> None:
    web = build.deployment(uses="configmap/app", annotations=ENABLED)
    first = adopt(stage, controller, web)
    stage.api.patch(stage.path(web), {"spec": {"paused": True}})
    image = {"name": "main", "image": "example.invalid/app:2"}
    new = {"spec": {"template": {"spec": {"containers": [image]}}}}
    stage.api.patch(stage.path(web), new, kind="strategic")
    heard_of_it(stage)
    stage.change("ConfigMap", "app", key="new")
    eventually(lambda: stage.events(web, "Paused"), "an Event says that it is held")

    stage.api.patch(stage.path(web), {"spec": {"paused": False}})

    eventually(lambda: stage.record(web)["n"] > first, "it is recorded")
    stage.settled(web)
    stage.quiet(web)
    assert stage.record(web)["why"] == "RolledElsewhere"
    assert len(stage.revisions(web)) == 2
