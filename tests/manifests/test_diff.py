"""`reroll diff` of two renders: which workloads roll, because of which keys, and never a value."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.support import build
from tests.support.build import Object
from tests.support.command import Finished, reroll

from reroll.core.revisions.content_names import marks
from reroll.core.tables.kinds import KINDS
from reroll.manifests.diff import overlay

Stream = list[Object]


def shop(
    config: dict[str, str] | None = None, login: dict[str, str] | None = None, **web: Any
) -> Stream:
    uses = {"uses": ["configmap/app", "secret/db#password"], **web}
    return [
        build.configmap("app", config or {"LOG_LEVEL": "info", "TIMEOUT": "5s"}),
        build.secret("db", login or {"password": "hunter2", "user": "app"}),
        build.deployment("web", **uses),
    ]


def diff(
    tmp_path: Path, before: Stream, after: Stream, *args: str, rendered: bool = True
) -> Finished:
    files = []
    for name, stream in (("before", before), ("after", after)):
        file = tmp_path / f"{name}.yaml"
        text = yaml.safe_dump_all(stream)
        file.write_text(reroll("render", "-", input=text).out if rendered else text)
        files.append(file)
    return reroll("diff", *files, *args)


def test_the_same_render_twice_rolls_nothing(tmp_path: Path) -> None:
    assert diff(tmp_path, shop(), shop()) == (0, "nothing changes\n", "")


def test_changed_keys_are_named_and_values_are_not(tmp_path: Path) -> None:
    before = shop()
    after = shop({"LOG_LEVEL": "debug", "RETRIES": "7531"}, {"password": "correct horse"})

    done = diff(tmp_path, before, after)

    assert (done.code, done.err) == (3, "")
    assert done.out == (
        "WORKLOAD        EFFECT  BECAUSE\n"
        "deployment/web  rolls   ConfigMap app: LOG_LEVEL changed, RETRIES added, TIMEOUT removed; "
        "Secret db: password changed\n"
    )
    for value in ("hunter2", "correct horse", "7531", "debug"):
        assert value not in done.out
        assert build.encode(value) not in done.out


def test_a_key_that_the_workload_does_not_use_rolls_nothing(tmp_path: Path) -> None:
    after = shop(login={"password": "hunter2", "user": "another"})

    assert diff(tmp_path, shop(), after).code == 0


def test_another_image_is_told_as_a_field(tmp_path: Path) -> None:
    after = shop(container={"image": "example.invalid/app:2"}, template_annotations={"a": "b"})

    done = diff(tmp_path, shop(), after, "-o", "json")

    assert done.code == 3
    (web,) = done.json["workloads"]
    assert web["because"] == []
    assert web["fields"] == ["metadata.annotations", "spec.containers[main].image"]


def test_many_fields_are_cut_short(tmp_path: Path) -> None:
    after = shop(container={f"field{i}": str(i) for i in range(9)})

    (web,) = diff(tmp_path, shop(), after, "-o", "json").json["workloads"]
    assert web["fields"][-1] == "and 4 more"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_each_kind_says_what_becomes_of_its_pods(tmp_path: Path, kind: Any) -> None:
    effects = {"CronJob": ("next run", 0), "Job": ("recreate", 3)}
    builder = getattr(build, kind.name.lower())
    web = builder("web", uses=["configmap/app"], annotations={"reroll.dev/enabled": "true"})
    streams = [[build.configmap("app", {"key": value}), web] for value in ("1", "2")]

    done = diff(tmp_path, *streams, "-o", "json")

    (web,) = done.json["workloads"]
    assert (web["effect"], done.code) == effects.get(kind.name, ("rolls", 3))
    assert web["because"][0]["changed"] == ["key"]


def test_pods_that_somebody_has_to_delete_do_not_roll(tmp_path: Path) -> None:
    spec = {"updateStrategy": {"type": "OnDelete"}}
    streams = [
        [build.configmap("app", {"key": value}), build.daemonset(uses=["configmap/app"], spec=spec)]
        for value in ("1", "2")
    ]

    done = diff(tmp_path, *streams)

    assert done.code == 0
    assert "on delete" in done.out


def test_a_workload_without_a_checksum_does_not_roll_and_that_is_said(tmp_path: Path) -> None:
    done = diff(tmp_path, shop(), shop({"LOG_LEVEL": "debug", "TIMEOUT": "5s"}), rendered=False)

    assert done.code == 0
    assert "does not roll  ConfigMap app: LOG_LEVEL changed" in done.out
    assert "no checksum" in done.err


def test_new_and_removed_workloads_are_told(tmp_path: Path) -> None:
    before, after = shop(), [*shop(), build.job("task")]

    assert "job/task  new" in diff(tmp_path, before, after).out
    assert "job/task  removed" in diff(tmp_path, after, before).out


def test_content_names_are_told_as_keys(tmp_path: Path) -> None:
    def named(suffix: str, value: str) -> Stream:
        name = f"app-{suffix}"
        config = build.configmap(name, {"key": value}, labels=marks("app")[0], immutable=True)
        return [config, build.deployment(mounts=[f"configmap/{name}"], volume_mounts=[])]

    before, after = named("5f9c2d1a7b", "1"), named("88aa88aa88", "2")
    for stream in (before, after):
        pod = stream[1]["spec"]["template"]["spec"]
        pod["volumes"][0]["name"] = pod["containers"][0]["volumeMounts"][0]["name"] = "v"
        pod["containers"][0]["volumeMounts"][0]["mountPath"] = "/etc/app"

    done = diff(tmp_path, before, after, rendered=False)

    assert done.code == 3
    assert "rolls   ConfigMap app: key changed\n" in done.out


def test_the_same_name_in_two_namespaces_is_two_workloads(tmp_path: Path) -> None:
    def both(value: str) -> Stream:
        return [
            *(build.configmap("app", {"k": v}, namespace=n) for n, v in (("a", value), ("b", "1"))),
            *(build.deployment(uses=["configmap/app"]) for _ in "ab"),
        ]

    streams = [both("1"), both("2")]
    for stream in streams:
        for one, place in zip(stream[2:], "ab", strict=True):
            one["metadata"]["namespace"] = place

    (web,) = diff(tmp_path, *streams, "-o", "json").json["workloads"]
    assert web["namespace"] == "a"


def test_a_custom_kind_rolls_too(tmp_path: Path) -> None:
    def machine(value: str) -> Stream:
        workload = build.deployment("m", uses=["configmap/app"])
        custom = {**workload, "apiVersion": "example.com/v1", "kind": "Machine"}
        return [build.configmap("app", {"key": value}), custom]

    config = tmp_path / "reroll.yml"
    row = {"group": "example.com", "kind": "Machine", "template": "spec.template"}
    config.write_text(yaml.safe_dump({"kinds": [row]}))
    before, after = (
        reroll("render", "--config", config, input=yaml.safe_dump_all(machine(value))).out
        for value in "12"
    )
    file = tmp_path / "before.yaml"
    file.write_text(before)

    done = reroll("diff", file, "-", "--config", config, input=after)
    assert (done.code, "machine/m" in done.out) == (3, True)
    assert reroll("diff", file, "-", input=after).code == 0
    config.write_text("kinds: 1")
    assert "config file" in reroll("diff", file, "-", "--config", config, input=after).err


def test_standard_input_can_be_one_of_the_two(tmp_path: Path) -> None:
    file = tmp_path / "before.yaml"
    file.write_text(reroll("render", "-", input=yaml.safe_dump_all(shop())).out)

    assert reroll("diff", file, "-", input=file.read_text()).code == 0
    assert reroll("diff", "-", tmp_path, input=file.read_text()).code == 0


BAD = {
    "broken YAML": ("broken.yaml:2:", ("broken.yaml", "good.yaml")),
    "a file that is not there": ("none.yaml", ("good.yaml", "none.yaml")),
    "three renders": ("one render or two", ("a", "b", "c")),
    "standard input twice": ("not both", ("-", "-")),
}


@pytest.mark.parametrize(("sentence", "args"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sentence: str, args: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("good.yaml").write_text(yaml.safe_dump(build.configmap()))
    Path("broken.yaml").write_text("kind: ConfigMap\n  metadata: [")

    done = reroll("diff", *args)

    assert (done.code, done.out) == (2, "")
    assert sentence in done.err


def test_what_a_render_does_not_say_is_as_it_was() -> None:
    live = {"a": 1, "list": [{"name": "x", "default": True}], "gone": [1]}

    assert overlay(live, {"list": [{"name": "x"}]}) == live
    assert overlay(live, {"gone": []})["gone"] == []
    assert overlay(live, {"list": [{"name": "y"}]})["list"] == [{"name": "y", "default": True}]
