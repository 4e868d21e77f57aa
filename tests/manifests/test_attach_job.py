"""`reroll render --names --with-attach-job`: what is added, and with which rights."""

import json
from typing import Any

import yaml
from tests.support import build
from tests.support.command import Finished, reroll

FLAGS = ("--names", "--with-attach-job", "-n", "shop")


def stream(value: str = "1", tag: str = "1") -> list[dict[str, Any]]:
    image = {"image": f"example.invalid/app:{tag}"}
    return [
        build.configmap("app", {"key": value}),
        build.secret("db"),
        build.deployment("web", uses=["configmap/app"], container=image),
        build.cronjob("task", pod={"imagePullSecrets": [{"name": "db"}]}),
        build.statefulset("other", uses=["configmap/elsewhere"]),
    ]


def render(objects: list[dict[str, Any]], *flags: str) -> Finished:
    return reroll("render", *(flags or FLAGS), input=yaml.safe_dump_all(objects))


def objects(done: Finished, kind: str) -> list[dict[str, Any]]:
    assert (done.code, done.err) == (0, "")
    return [one for one in yaml.safe_load_all(done.out) if one["kind"] == kind]


def test_the_job_attaches_what_uses_content_named_configs() -> None:
    done = render(stream())
    (configmap,), (secret,) = objects(done, "ConfigMap"), objects(done, "Secret")
    (job,) = objects(done, "Job")
    container = job["spec"]["template"]["spec"]["containers"][0]

    assert container["args"] == [
        *("attach", "-n", "shop", "--timeout", "5m", "cronjob/task", "deployment/web"),
        *("--config", f"configmap/{configmap['metadata']['name']}"),
        *("--config", f"secret/{secret['metadata']['name']}"),
    ]
    assert container["image"].startswith("reroll:")
    assert {one["metadata"]["namespace"] for one in (job, *objects(done, "Role"))} == {"shop"}


def test_its_rights_are_for_these_objects_alone() -> None:
    (role,) = objects(render(stream()), "Role")

    open_rules = [rule for rule in role["rules"] if "resourceNames" not in rule]
    assert [(rule["resources"], rule["verbs"]) for rule in open_rules] == [
        (["replicasets"], ["list"])
    ]
    verbs = {verb for rule in role["rules"] for verb in rule["verbs"]}
    assert verbs == {"get", "list", "patch"}
    assert all(len(rule["resourceNames"]) == 1 for rule in role["rules"] if rule not in open_rules)


def test_a_second_run_changes_nothing() -> None:
    once = render(stream())

    assert reroll("render", *FLAGS, input=once.out) == once


def test_each_deploy_has_its_own_job_with_the_same_rights_holder() -> None:
    renders = [render(stream(*args)) for args in (("1", "1"), ("1", "2"), ("2", "1"))]

    jobs = {objects(done, "Job")[0]["metadata"]["name"] for done in renders}
    accounts = {objects(done, "ServiceAccount")[0]["metadata"]["name"] for done in renders}
    assert (len(jobs), len(accounts)) == (3, 1)
    assert render(stream()) == renders[0]


def test_a_stream_of_json_stays_one() -> None:
    listed = {"apiVersion": "v1", "kind": "List", "items": stream()}

    done = reroll("render", *FLAGS, input=json.dumps(listed))

    decoder, text, kinds = json.JSONDecoder(), done.out.strip(), []
    while text:
        one, end = decoder.raw_decode(text)
        kinds.append(one["kind"])
        text = text[end:].lstrip()
    assert kinds == ["List", "ServiceAccount", "Role", "RoleBinding", "Job"]


def test_nothing_is_added_where_nothing_is_content_named() -> None:
    plain = render(stream(), "-n", "shop")

    assert render(stream(), "-n", "shop", "--with-attach-job") == plain


def test_each_namespace_has_a_job() -> None:
    both = [
        one
        for place in ("a", "b")
        for one in (
            build.configmap(namespace=place),
            build.deployment(uses=["configmap/app"])
            | {"metadata": {"name": "w", "namespace": place}},
        )
    ]

    done = render(both, "--names", "--with-attach-job")

    assert [one["metadata"]["namespace"] for one in objects(done, "Job")] == ["a", "b"]


def test_without_a_namespace_there_is_a_sentence_and_no_output() -> None:
    done = render(stream(), "--names", "--with-attach-job")

    assert (done.code, done.out) == (2, "")
    assert "give --namespace" in done.err
