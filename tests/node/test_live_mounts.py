"""Files that the kubelet renews by itself: what `reroll.dev/mounts: live` leaves to it."""

from collections.abc import Callable

from tests.node.serving import ServingStage, file, serving
from tests.scenarios.stage import ENABLED, Controller
from tests.support import build

LIVE = {**ENABLED, "reroll.dev/mounts": "live"}
FILES = "/etc/configmap/files"
PAGE = {"key": "page", "path": "page"}


def test_a_live_file_changes_by_itself_and_nothing_rolls(
    stage: ServingStage, controller: Callable[..., Controller]
) -> None:
    web = build.deployment(replicas=2, annotations=LIVE, mounts="configmap/files", **serving())
    stage.make(build.configmap("files", {"page": "first"}), web)
    controller()
    stage.adopted(web)
    stage.settled(web)
    stage.file_is(web, f"{FILES}/page", "first")
    pods = stage.uids(web)

    stage.change("ConfigMap", "files", page="second")

    stage.file_is(web, f"{FILES}/page", "second")
    stage.quiet(web)
    assert stage.uids(web) == pods
    assert len(stage.revisions(web)) == 1


def test_a_live_mount_and_a_variable_in_one_pod(
    stage: ServingStage, controller: Callable[..., Controller]
) -> None:
    """The same ConfigMap, even: its key in the environment rolls, its key in the file does not."""
    level = {"name": "LEVEL", "valueFrom": {"configMapKeyRef": {"name": "files", "key": "level"}}}
    volume = {"name": "files", "items": [PAGE]}
    web = build.deployment(
        annotations=LIVE,
        volumes=[{"name": "files", "configMap": volume}],
        volume_mounts=[{"name": "files", "mountPath": FILES}],
        **serving([level]),
    )
    stage.make(build.configmap("files", {"page": "first", "level": "info"}), web)
    controller()
    stage.adopted(web)
    stage.settled(web)
    pods = stage.uids(web)

    stage.change("ConfigMap", "files", page="second")
    stage.file_is(web, f"{FILES}/page", "second")
    stage.quiet(web)
    assert stage.uids(web) == pods

    stage.change("ConfigMap", "files", level="debug")
    stage.variable_is(web, "LEVEL", "debug")
    assert stage.answers(web, file(f"{FILES}/page")) == ["second"]
    stage.settled(web)
    assert pods.isdisjoint(stage.uids(web))
    assert len(stage.revisions(web)) == 2


def test_a_live_mount_and_a_frozen_one_in_one_pod(
    stage: ServingStage, controller: Callable[..., Controller]
) -> None:
    """Files of one ConfigMap: the kubelet renews one of them, and only a roll renews the other."""
    kept = f"{FILES}-kept/level"
    web = build.deployment(
        annotations=LIVE,
        volumes=[
            {"name": "live", "configMap": {"name": "files", "items": [PAGE]}},
            {"name": "kept", "configMap": {"name": "files"}},
        ],
        volume_mounts=[
            {"name": "live", "mountPath": FILES},
            {"name": "kept", "mountPath": kept, "subPath": "level"},
        ],
        **serving(),
    )
    stage.make(build.configmap("files", {"page": "first", "level": "info"}), web)
    controller()
    stage.adopted(web)
    stage.settled(web)
    pods = stage.uids(web)

    stage.change("ConfigMap", "files", page="second")
    stage.file_is(web, f"{FILES}/page", "second")
    stage.quiet(web)
    assert stage.uids(web) == pods

    stage.change("ConfigMap", "files", level="debug")
    stage.file_is(web, kept, "debug")
    assert stage.answers(web, file(f"{FILES}/page")) == ["second"]
    stage.settled(web)
    assert pods.isdisjoint(stage.uids(web))
    assert len(stage.revisions(web)) == 2


def test_a_file_by_subpath_never_changes_by_itself_so_it_rolls_though_mounts_are_live(
    stage: ServingStage, controller: Callable[..., Controller]
) -> None:
    page = f"{FILES}/page"
    web = build.deployment(
        annotations=LIVE,
        volumes=[{"name": "files", "configMap": {"name": "files"}}],
        volume_mounts=[{"name": "files", "mountPath": page, "subPath": "page"}],
        **serving(),
    )
    stage.make(build.configmap("files", {"page": "first"}), web)
    controller()
    stage.adopted(web)
    stage.settled(web)
    pods = stage.uids(web)

    stage.change("ConfigMap", "files", page="second")

    stage.file_is(web, page, "second")
    assert pods.isdisjoint(stage.uids(web))
    assert len(stage.revisions(web)) == 2
