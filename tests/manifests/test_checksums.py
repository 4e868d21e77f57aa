"""What a checksum is of, and what it is not of."""

import base64
import hashlib

import pytest
from tests.manifests.manifests import (
    as_json,
    checksum,
    configmap,
    deployment,
    env_from,
    objects,
    pick,
    rendered,
    secret,
    stream,
)

from reroll.core.model.content import Content
from reroll.core.model.digest import reference_digest, stamp, value_digests
from reroll.core.model.key import Key
from reroll.core.model.reference import Reference
from reroll.core.tables.kinds import KINDS
from reroll.manifests.checksums import NO_DATA
from reroll.manifests.model import BadInputError

APP = env_from("ConfigMap", "app")
DB = env_from("Secret", "db")
WEB = deployment("web", APP, DB)


def of(*sources, **options) -> str | None:
    return checksum(rendered(stream(*sources, WEB), **options))


def test_it_changes_with_a_value_of_either_kind_and_comes_back() -> None:
    first = of(configmap(), secret())
    assert of(configmap(data={"a": "2"}), secret()) != first
    assert of(configmap(), secret(text={"p": "2"})) != first
    assert of(configmap(), secret()) == first


def test_it_changes_with_the_name_of_a_key_and_with_a_key_more() -> None:
    sums = {of(configmap(data=data)) for data in ({"a": "1"}, {"b": "1"}, {"a": "1", "b": ""})}
    assert len(sums) == 3


def test_nothing_but_data_counts() -> None:
    plain = of(configmap(data={"a": "1", "b": "2"}), secret())
    dressed = configmap(
        data={"b": "2", "a": "1"}, labels={"x": "y"}, annotations={"n": "m"}, immutable=True
    )
    assert of(dressed, secret(type="Opaque")) == plain


def test_how_it_is_written_does_not_count() -> None:
    written = """
    {apiVersion: v1, kind: ConfigMap, metadata: {name: app}, # here
     data: {"a": '1', ? b : "2"}}
    """
    first = checksum(rendered(stream(configmap(data={"a": "1", "b": "2"}), WEB)))
    assert checksum(rendered(written + "\n---\n" + stream(WEB))) == first
    assert checksum(rendered(as_json(configmap(data={"a": "1", "b": "2"}), WEB))) == first


def test_data_and_string_data_count_alike_and_string_data_wins() -> None:
    text = {**secret(), "data": None, "stringData": {"p": "1"}}
    both = {**secret(text={"p": "old"}), "stringData": {"p": "1"}}
    assert of(secret()) == of(text) == of(both)


def test_binary_data_counts_as_what_it_holds() -> None:
    binary = {"binaryData": {"a": base64.b64encode(b"1").decode()}}
    assert of(configmap(data={}, **binary)) == of(configmap(data={"a": "1"}))
    raw = {"binaryData": {"a": base64.b64encode(b"\xff\0").decode()}}
    assert of(configmap(data={}, **raw)) not in {NO_DATA, of(configmap())}


def test_without_data_it_says_so() -> None:
    assert of(configmap(data={})) == NO_DATA


def test_sources_outside_the_stream_leave_what_is_there_alone() -> None:
    alone = stream(WEB)
    assert rendered(alone) == alone


def test_a_source_outside_the_stream_does_not_change_the_sum_of_those_inside() -> None:
    assert of(configmap()) == checksum(rendered(stream(configmap(), deployment("web", APP))))


def test_only_the_keys_that_are_used_count() -> None:
    ref = {"configMapKeyRef": {"name": "app", "key": "a"}}
    pod = {"containers": [{"name": "c", "env": [{"name": "A", "valueFrom": ref}]}]}
    web = deployment(pod=pod)
    one = rendered(stream(configmap(data={"a": "1", "b": "1"}), web))
    other = rendered(stream(configmap(data={"a": "1", "b": "2"}), web))
    assert checksum(one) == checksum(other)


def test_the_same_name_in_two_namespaces_is_two_sources() -> None:
    text = rendered(
        stream(
            configmap(namespace="a"),
            configmap(namespace="b", data={"a": "2"}),
            deployment("one", APP, namespace="a"),
            deployment("two", APP, namespace="b"),
        )
    )
    alone = stream(configmap(namespace="b", data={"a": "2"}), deployment("two", APP, namespace="b"))
    assert checksum(text, "one") != checksum(text, "two") == checksum(rendered(alone))


def test_objects_without_a_namespace_are_in_the_one_that_is_given() -> None:
    apart = stream(configmap(), deployment("web", APP, namespace="shop"))
    assert rendered(apart, namespace="other") == apart
    assert checksum(rendered(apart, namespace="shop"))


def test_the_order_of_documents_and_the_number_of_files_do_not_matter() -> None:
    parts = [stream(each) for each in (configmap(), secret(), WEB)]
    assert len({checksum(rendered("---\n".join(o))) for o in (parts, parts[::-1])}) == 1
    assert checksum(rendered(*parts)) == checksum(rendered("---\n".join(parts)))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_kind_gets_one(kind) -> None:
    made = {"spec": {"containers": [{"name": "c", "envFrom": [APP]}]}}
    for step in reversed(kind.template):
        made = {step: made}
    version = f"{kind.group}/{kind.version}"
    metadata = {"name": "w", "annotations": {"reroll.dev/enabled": "true"}}
    work = {"apiVersion": version, "kind": kind.name, "metadata": metadata, **made}
    found = pick(rendered(stream(configmap(), work)), kind.name)
    for step in kind.template:
        found = found[step]
    assert found["metadata"]["annotations"]["checksum.reroll.dev/config"] not in {None, NO_DATA}


def test_a_kind_of_another_group_is_left_alone() -> None:
    other = {**WEB, "apiVersion": "example.com/v1"}
    assert rendered(stream(configmap(), other)) == stream(configmap(), other)


def test_lists_are_gone_into() -> None:
    listed = {"apiVersion": "v1", "kind": "List", "items": [configmap(), secret(), WEB]}
    assert checksum(rendered(stream(listed))) == of(configmap(), secret())
    assert checksum(rendered(as_json(listed, indent=2))) == of(configmap(), secret())


def test_a_source_with_a_generated_name_is_none() -> None:
    made = {**configmap(), "metadata": {"generateName": "app"}}
    text = stream(made, made, deployment("web", APP))
    assert rendered(text) == text


def test_a_workload_with_a_generated_name_gets_one() -> None:
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"generateName": "j-"}}
    job["spec"] = WEB["spec"]
    (_, found) = objects(rendered(stream(configmap(), job)))
    assert found["spec"]["template"]["metadata"]["annotations"]["checksum.reroll.dev/config"]


def test_one_annotation_for_each_source() -> None:
    text = rendered(stream(configmap(), secret(), WEB), per_source=True)
    found = pick(text, "Deployment")["spec"]["template"]["metadata"]["annotations"]
    assert set(found) == {"checksum.reroll.dev/configmap-app", "checksum.reroll.dev/secret-db"}
    other = rendered(stream(configmap(data={"a": "2"}), secret(), WEB), per_source=True)
    after = pick(other, "Deployment")["spec"]["template"]["metadata"]["annotations"]
    assert found["checksum.reroll.dev/secret-db"] == after["checksum.reroll.dev/secret-db"]
    assert found["checksum.reroll.dev/configmap-app"] != after["checksum.reroll.dev/configmap-app"]


def test_the_name_of_a_long_source_is_shortened_in_its_annotation_and_still_its_own() -> None:
    first, second = "a" * 80 + "1", "a" * 80 + "2"
    work = deployment("web", env_from("ConfigMap", first), env_from("ConfigMap", second))
    text = rendered(stream(configmap(first), configmap(second), work), per_source=True)
    found = pick(text, "Deployment")["spec"]["template"]["metadata"]["annotations"]
    assert len(found) == 2
    assert all(len(name.removeprefix("checksum.reroll.dev/")) <= 63 for name in found)


def test_the_annotation_can_have_another_name() -> None:
    text = rendered(stream(configmap(), WEB), annotation="example.com/sum")
    assert checksum(text, annotation="example.com/sum")
    assert checksum(text) is None


def test_a_workload_can_opt_out_and_name_more_sources_and_ignore_some() -> None:
    def web(**annotations: str) -> dict:
        ours = {f"reroll.dev/{name}": value for name, value in annotations.items()}
        return deployment("web", APP, annotations=ours)

    out = stream(configmap(), web(enabled="false"))
    assert rendered(out) == out
    usual = checksum(rendered(stream(configmap(), secret(), web())))
    more = checksum(rendered(stream(configmap(), secret(), web(sources="secret/d*"))))
    less = checksum(rendered(stream(configmap(), secret(), web(ignore="configmap/app"))))
    assert len({usual, more, less}) == 3


def test_what_a_namespace_in_the_stream_asks_for_counts() -> None:
    room = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    room["metadata"]["annotations"] = {"reroll.dev/enabled": "false"}
    parts = configmap(namespace="shop"), deployment("web", APP, namespace="shop"), room
    assert rendered(stream(*parts)) == stream(*parts)
    room["metadata"]["annotations"] = {"reroll.dev/enabled": "maybe"}
    with pytest.raises(BadInputError, match="enabled on Namespace shop"):
        rendered(stream(*parts))


def test_a_source_can_ask_to_be_ignored() -> None:
    quiet = configmap(annotations={"reroll.dev/ignore": "true"})
    assert of(quiet, secret()) == of(secret())


def test_a_key_makes_other_checksums_of_secrets_and_not_of_configmaps() -> None:
    keys = (None, b"1" * 16, b"2" * 16)
    assert len({of(secret(), key=key) for key in keys}) == 3
    assert len({of(configmap(), key=key) for key in keys}) == 1


def test_without_a_key_no_plain_hash_of_a_secret_is_written() -> None:
    """Another formula, or another cost, would roll every workload of people without a key."""
    text = stream(secret(), WEB)
    content = Content({"": value_digests({"p": b"1"}, None)})
    reference = Reference(Key("Secret", "", "db"))
    plain = stamp({reference.entry(""): reference_digest(reference, content, "") or ""})
    hard = hashlib.scrypt(plain.encode(), salt=b"reroll render 1", n=1024, r=8, p=1, dklen=16)
    assert checksum(rendered(text, key=None)) == stamp({"secrets": hard.hex()})


def test_without_a_key_a_checksum_is_still_the_same_each_time() -> None:
    assert of(secret(), configmap(), key=None) == of(configmap(), secret(), key=None)


def test_a_source_of_another_namespace_counts_if_it_agreed() -> None:
    def sums(value: str) -> str | None:
        agreed = secret(
            text={"p": value}, namespace="b", annotations={"reroll.dev/allow-from": "a*"}
        )
        named = deployment(namespace="a", annotations={"reroll.dev/sources": "secret/b/db"})
        return checksum(rendered(stream(agreed, named)))

    assert sums("1") == sums("1") != sums("2")


def test_an_encrypted_value_counts_as_the_text_that_it_is() -> None:
    def sums(value: str) -> str | None:
        return of({**secret(), "data": {"p": value}})

    assert sums("ENC[AES256_GCM,data:a]") == sums("ENC[AES256_GCM,data:a]")
    assert sums("ENC[AES256_GCM,data:a]") != sums("ENC[AES256_GCM,data:b]")


def test_strict_refuses_what_nothing_defines_but_for_optional_references() -> None:
    with pytest.raises(BadInputError) as refused:
        of(configmap(), strict=True)
    (problem,) = refused.value.problems
    assert problem == (
        "1.yaml:8:1: Deployment web refers to Secret db, which nothing here defines; add it, or "
        "mark the reference optional"
    )
    maybe = deployment("web", env_from("Secret", "db", optional=True))
    assert checksum(rendered(stream(configmap(), maybe), strict=True)) is None


def test_strict_refuses_a_key_that_the_source_does_not_have() -> None:
    ref = {"configMapKeyRef": {"name": "app", "key": "nope"}}
    pod = {"containers": [{"name": "c", "env": [{"name": "A", "valueFrom": ref}]}]}
    with pytest.raises(BadInputError, match="which has no key nope; add it"):
        rendered(stream(configmap(), deployment(pod=pod)), strict=True)


SHARED = """\
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: app}, data: {a: "1"}}
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: one}
  spec:
    template:
      metadata:
        annotations: &notes
          team: shop
      spec: {containers: [{name: c, envFrom: [{configMapRef: {name: app}}]}]}
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: two}
  spec:
    template:
      metadata: {annotations: *notes}
      spec:
        containers:
        - {name: c, env: [{name: A, valueFrom: {configMapKeyRef: {name: app, key: b}}}]}
"""


def test_annotations_that_two_templates_share_get_a_checksum_each() -> None:
    text = rendered(SHARED)
    assert checksum(text, "one") not in {None, NO_DATA}
    assert checksum(text, "two") == NO_DATA
    assert rendered(text) == text
    for each in ("one", "two"):
        template = pick(text, "Deployment", each)["spec"]["template"]
        assert template["metadata"]["annotations"]["team"] == "shop"


def test_annotations_that_something_else_shares_are_refused() -> None:
    service = "- {apiVersion: v1, kind: Service, metadata: {name: s, annotations: *notes}}\n"
    with pytest.raises(BadInputError) as refused:
        rendered(SHARED + service)
    (problem,) = refused.value.problems
    assert problem == (
        "1.yaml:5:3: this cannot be edited without changing another place that shares it by a YAML "
        "anchor; write out what is shared"
    )


def test_a_template_that_two_workloads_share_gets_one_checksum() -> None:
    text = SHARED.replace("template:\n      metadata:\n", "template: &all\n      metadata:\n")
    start = text.index("    template:\n      metadata: {annotations: *notes}")
    shared = rendered(text[:start] + "    template: *all\n")
    assert checksum(shared, "one") == checksum(shared, "two")
    assert shared.count("checksum.reroll.dev/config") == 1
