"""A canary of a StatefulSet: its last pods try a content, and its partition is put back."""

from tests.scenarios.on_canary import Decide, Start, asking, copies_of_pods, decide, partition, uids
from tests.scenarios.propagating import change, healthy_pods, impatient, pinned, sicken, told
from tests.scenarios.revised import pin, pins
from tests.scenarios.stage import Stage, again, alone, eventually
from tests.support import build
from tests.support.build import FAIL, Object

from reroll.cli.errors import Exit

__all__ = ["decide"]
WEB = "statefulset/web"


def a_set(replicas: int, **more: str) -> Object:
    return build.statefulset(replicas=replicas, uses=["configmap/app"], annotations=asking(**more))


def the_last_tries(stage: Stage, web: Object, *before: str) -> str:
    """Wait until the last of four pods, and no other, has another copy than these."""

    def found() -> str:
        copies = copies_of_pods(stage, web)
        last = copies.pop("web-3", "")
        is_new = last and last not in before and len(copies) == 3
        return last if is_new and last not in copies.values() else ""

    copy = str(eventually(found, "the last pod tries it"))
    assert (partition(stage, web), pin(stage, web)) == (3, copy)
    return copy


def put_back(stage: Stage, web: Object, copy: str, old: str) -> None:
    """Wait until the partition is that of the person, and the pods behind it have this copy."""
    wanted = {"web-0": old, "web-1": copy, "web-2": copy, "web-3": copy}
    eventually(lambda: copies_of_pods(stage, web) == wanted, f"{wanted}")
    assert partition(stage, web) == 1
    canary = stage.record(web).get("canary")
    assert canary is None or canary["v"] == "aborted"


def test_the_last_pod_tries_a_change_and_the_partition_of_a_person_comes_back_though_it_is_killed(
    stage: Stage, controller: Start, decide: Decide
) -> None:
    stage.make(build.configmap())
    web = stage.make(a_set(4, **{"canary-pause": "manual"}))
    one = alone(controller)
    pinned(stage, [web])
    old = pin(stage, web)
    stage.api.patch(
        stage.path(web), {"spec": {"updateStrategy": {"rollingUpdate": {"partition": 1}}}}
    )
    before, recorded = uids(stage, web), stage.record(web)["s"]

    change(stage, "first")
    first = the_last_tries(stage, web, old)
    again(one)
    told(stage, web, "OnCanary", "reroll promote")
    change(stage, "second")
    second = the_last_tries(stage, web, old, first)
    again(one)
    there = uids(stage, web)
    assert {name for name in before if before[name] != there[name]} == {"web-3"}
    assert stage.record(web)["s"] == recorded
    done = decide("promote", WEB)
    assert done.code == Exit.OK, done.err
    again(one)
    put_back(stage, web, second, old)
    assert uids(stage, web)["web-3"] == there["web-3"], "its pod was replaced again"
    assert decide("abort", WEB).code == Exit.FAILED

    change(stage, "third")
    third = the_last_tries(stage, web, second)
    assert decide("abort", WEB).code == Exit.OK
    again(one)
    told(stage, web, "Stopped", "its canary aborted")
    put_back(stage, web, second, old)

    change(stage, "fourth")
    the_last_tries(stage, web, second, third)
    stage.annotate(web, enabled="false")
    eventually(lambda: not pins(stage, web), "it is out")
    assert (partition(stage, web), "canary" in stage.record(web)) == (1, False)


def test_a_sick_pod_stops_the_change_and_template_partition_and_pods_are_as_they_were(
    stage: Stage, controller: Start
) -> None:
    stage.make(build.configmap())
    web = stage.make(impatient(a_set(3)))
    one = alone(controller)
    pinned(stage, [web])
    sicken(stage, web, "crashloop")
    spec, before, old = stage.get(web)["spec"], uids(stage, web), pin(stage, web)

    change(stage, "bad")
    # By its record: the partition may have been put back by the next look.
    eventually(lambda: "canary" in stage.record(web), "its canary began")
    again(one)
    told(stage, web, "Stopped", "its canary failed", "web-2")
    again(one)
    assert stage.get(web)["spec"] == spec
    assert stage.record(web)["canary"]["v"] == "failed"
    eventually(lambda: pins_of_last(stage, web) == old, "the sick pod is replaced")
    healthy_pods(stage, web)
    there = uids(stage, web)
    assert {name for name in before if before[name] != there[name]} == {"web-2"}

    # Another template is another trial, and this one gets through by itself; not before its own
    # rollout is over, since a partition would make the second pod anew of the sick template.
    mended = {"metadata": {"annotations": {FAIL: None}}}
    patient = {"annotations": {"reroll.dev/deadline": None}}
    stage.api.patch(stage.path(web), {"metadata": patient, "spec": {"template": mended}})
    eventually(lambda: pin(stage, web) != old and "canary" not in stage.record(web), "it rolled")
    stage.settled(web)
    assert set(copies_of_pods(stage, web).values()) == {pin(stage, web)}
    assert partition(stage, web) == 0


def pins_of_last(stage: Stage, web: Object) -> str:
    """The copy that the last of three pods has, ready or not."""
    last = [pod for pod in stage.pods(web) if pod["metadata"]["name"] == "web-2"]
    sources = [one["configMapRef"]["name"] for pod in last for one in envs(pod)]
    return sources[0] if sources else ""


def envs(pod: Object) -> list[Object]:
    return [one for container in pod["spec"]["containers"] for one in container["envFrom"]]
