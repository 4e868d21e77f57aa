"""A piece of a Secret gets into a spec that wants it, and stays current there."""

from collections.abc import Callable

from tests.scenarios.injecting import Injecting, gadget, injection, managers, source, writes
from tests.scenarios.stage import Stage, Web, eventually
from tests.support import build
from tests.support.build import Object, encode
from tests.support.tools import Identity

from reroll_dev.api import path_to

Audit = Callable[[Identity], list[Object]]


def harbor() -> Object:
    """As the operator's docs write it, with the S3 access key in the spec."""
    s3 = {
        "accesskey": "AKIAFIRST",
        "secretkeyRef": "s3",
        "region": "eu-north-1",
        "bucket": "harbor",
    }
    return {
        "apiVersion": "goharbor.io/v1beta1",
        "kind": "HarborCluster",
        "metadata": {"name": "harbor"},
        "spec": {
            "externalURL": "https://harbor.example.com",
            "harborAdminPasswordRef": "admin",
            "version": "2.5.1",
            "storage": {"kind": "S3", "spec": {"s3": s3}},
        },
    }


def rotate(stage: Stage, value: str, name: str = "s3") -> None:
    """As External Secrets does it: by server-side apply."""
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}}
    body = {**secret, "data": {"access-key": encode(value), "secret-key": encode(f"not-{value}")}}
    path = path_to("Secret", name, stage.namespace)
    stage.api.patch(path, body, "apply", fieldManager="external-secrets", force="true")


def test_harbors_access_key_follows_the_secret_and_nothing_else_is_touched(
    injecting: Injecting, stage: Stage, audit: Audit, web: Web
) -> None:
    rotate(stage, "AKIA-ONE-d3adb33f")
    operator = build.deployment("harbor-operator", uses="secret/s3")
    one = injection(
        "harbor-s3", source("s3", "access-key"), harbor(), ".spec.storage.spec.s3.accesskey"
    )
    stage.make(harbor(), operator, one)
    before = stage.settled(operator)
    running = injecting.run(*web.flags)
    place = ("spec", "storage", "spec", "s3", "accesskey")
    injecting.holds(harbor(), "AKIA-ONE-d3adb33f", *place)
    assert injecting.said(one, "Injected").startswith("True: a string at ")

    for value in ("AKIA-TWO-d3adb33f", "AKIA-THREE-d3adb33f"):
        rotate(stage, value)
        found = injecting.holds(harbor(), value, *place)
    manager = f"reroll-injection/{stage.namespace}/harbor-s3"
    assert managers(found)[manager] == {
        "f:spec": {"f:storage": {"f:spec": {"f:s3": {"f:accesskey": {}}}}}
    }
    assert found["spec"]["storage"]["spec"]["s3"]["bucket"] == "harbor"

    # One write for each change, and none for anything else.
    # A value can be read before the call that wrote it is answered, and written down.
    calls = eventually(
        lambda: len(writes(found := audit(injecting.kubeconfig), "harborclusters")) > 2 and found
    )
    assert [call["objectRef"]["name"] for call in writes(calls, "harborclusters")] == ["harbor"] * 3
    assert not writes(calls, "deployments")
    after = stage.get(operator)
    assert after["metadata"]["generation"] == before["metadata"]["generation"]
    _is_nowhere_else(stage, one, web, running.log.read_text())


def _is_nowhere_else(stage: Stage, one: Object, web: Web, log: str) -> None:
    """The value is in the target's spec, because somebody asked for that, and nowhere else."""
    eventually(lambda: stage.events(one, "Injected"), "an Event tells of it")
    shown = stage.get(one)
    told = [event["message"] for event in stage.events(one)]
    for text in (log, str(shown), str(told), web.get("/metrics")[1]):
        assert "d3adb33f" not in text
        assert encode("AKIA-TWO-d3adb33f") not in text
    metrics = web.metrics()
    assert metrics['reroll_injections{ready="true"}'] == 1


def test_values_are_texts_numbers_and_objects_made_from_several_keys(
    injecting: Injecting, stage: Stage
) -> None:
    stage.make(
        build.secret("db", {"user": "shop", "password": 'p"w d', "bytes": "\x00\x01"}),
        build.configmap("app", {"host": "db.local", "replicas": "3", "more": '{"a": [1, true]}'}),
        gadget("g", token="t", nested={"other": "stays"}),
    )
    g = gadget("g")
    host = source("app", "host", "ConfigMap")
    url = "postgres://{{ user }}:{{ password|urlencode }}@{{ host }}/{% if user %}x{% endif %}"
    for one in (
        injection(
            "url", [source("db", "user"), source("db", "password"), host], g, ".spec.token",
            template=url,
        ),
        injection("encoded", source("db", "password"), g, ".spec.nested.token", encoding="base64"),
        injection(
            "number", source("app", "replicas", "ConfigMap"), g, "{.spec.replicas}",
            encoding="json",
        ),
        injection(
            "object", source("app", "more", "ConfigMap"), g, "$.spec.free.config", encoding="json"
        ),
        injection(
            "json", [source("db", "user", variable="who")], g, ".spec.free['a.b']",
            template='{"user": {{ who|tojson }}}', encoding="json",
        ),
    ):  # fmt: skip
        stage.make(one)
    injecting.run()
    injecting.holds(g, "postgres://shop:p%22w%20d@db.local/x", "spec", "token")
    injecting.holds(g, encode('p"w d'), "spec", "nested", "token")
    injecting.holds(g, 3, "spec", "replicas")
    injecting.holds(g, {"a": [1, True]}, "spec", "free", "config")
    found = injecting.holds(g, {"user": "shop"}, "spec", "free", "a.b")
    assert found["spec"]["nested"]["other"] == "stays"

    stage.change("ConfigMap", "app", host="db2.local")
    injecting.holds(g, "postgres://shop:p%22w%20d@db2.local/x", "spec", "token")


def test_one_item_of_a_list_is_written_and_its_neighbours_stay(
    injecting: Injecting, stage: Stage
) -> None:
    items = [{"name": "x", "value": "1"}, {"name": "y", "value": "2"}]
    stage.make(
        build.secret("s", {"k": "one"}),
        gadget("g", keyed=items, plain=items, atom={"a": "1", "b": "2"}),
    )
    g, key = gadget("g"), source("s", "k")
    made = [
        injection("keyed", key, g, '.spec.keyed[?(@.name=="y")].secret'),
        injection("plain", key, g, ".spec.plain[?(@.name=='y')].secret"),
        injection("indexed", key, g, ".spec.plain[0].value"),
        injection("atom", key, g, ".spec.atom.b"),
    ]
    stage.make(*made)
    injecting.run()
    for value in ("one", "two"):
        for one in made:
            injecting.said(one, "Injected")
        injecting.holds(g, value, "spec", "keyed", 1, "secret")
        injecting.holds(g, value, "spec", "plain", 1, "secret")
        injecting.holds(g, value, "spec", "plain", 0, "value")
        found = injecting.holds(g, value, "spec", "atom", "b")
        stage.change("Secret", "s", k="two")
    assert found["spec"] == {
        "keyed": [items[0], {**items[1], "secret": "two"}],
        "plain": [{"name": "x", "value": "two"}, {**items[1], "secret": "two"}],
        "atom": {"a": "1", "b": "two"},
    }
    # Whose each is stays visible: an atomic list is owned as a whole by who wrote to it last.
    owned = managers(found)
    home = f"reroll-injection/{stage.namespace}"
    assert 'k:{"name":"y"}' in owned[f"{home}/keyed"]["f:spec"]["f:keyed"]
    assert {"f:plain": {}} in [
        fields.get("f:spec") for name, fields in owned.items() if name.startswith(home)
    ]


def test_what_changed_while_nobody_watched_is_written_and_what_did_not_is_left(
    injecting: Injecting, stage: Stage, audit: Audit
) -> None:
    one = injection("one", source("s", "k"), gadget("g"), ".spec.token")
    other = injection("other", source("t", "k"), gadget("g"), ".spec.nested.token")
    stage.make(
        build.secret("s", {"k": "1"}), build.secret("t", {"k": "1"}), gadget("g"), one, other
    )
    running = injecting.run()
    injecting.said(one, "Injected")
    injecting.said(other, "Injected")
    running.kill()
    stage.change("Secret", "s", k="2")
    status = stage.get(other)["status"]

    running.start(wait="watching")
    found = injecting.holds(gadget("g"), "2", "spec", "token")
    injecting.said(one, "Injected")
    assert found["spec"]["nested"]["token"] == "1"
    assert stage.get(other)["status"] == status
    assert len(writes(audit(injecting.kubeconfig), "gadgets")) == 3


def test_a_dry_run_tells_what_would_be_written_and_writes_nothing(
    injecting: Injecting, stage: Stage, audit: Audit
) -> None:
    one = injection("one", source("s", "k"), gadget("g"), ".spec.token", dryRun=True)
    wrong = injection("wrong", source("s", "k"), gadget("g"), ".spec.replicas", dryRun=True)
    stage.make(build.secret("s", {"k": "hunter2"}), gadget("g", token="old"), one, wrong)
    injecting.run()
    said = injecting.said(one, "DryRun")
    assert said == (
        f"False: a string at .spec.token of Gadget {stage.namespace}/g would be written"
    )
    assert "expected numeric" in injecting.said(wrong, "Rejected")
    assert stage.get(gadget("g"))["spec"] == {"token": "old"}
    assert not writes(audit(injecting.kubeconfig), "gadgets")

    injecting.edit(one, dryRun=False)
    injecting.holds(gadget("g"), "hunter2", "spec", "token")
    injecting.said(one, "Injected")


def test_a_deleted_injection_keeps_its_value_or_gives_the_field_back(
    injecting: Injecting, stage: Stage
) -> None:
    items = [{"name": "x", "value": "1"}, {"name": "y", "value": "2"}]
    stage.make(build.secret("s", {"k": "secret"}), gadget("g", plain=items))
    g, key = gadget("g"), source("s", "k")
    keeps = injection("keeps", key, g, ".spec.token")
    removes = injection("removes", key, g, ".spec.nested.token", deletionPolicy="Remove")
    item = injection("item", key, g, ".spec.plain[1].secret", deletionPolicy="Remove")
    gone = injection("gone", key, g, ".spec.nested.other", deletionPolicy="Remove")
    made = (keeps, removes, item, gone)
    stage.make(*made)
    injecting.run()
    for one in made:
        injecting.said(one, "Injected")
    # One that somebody else wrote over since is theirs.
    injecting.edit(gone, dryRun=True)
    injecting.said(gone, "DryRun")
    stage.api.patch(stage.path(g), {"spec": {"nested": {"other": "mine"}}})
    for one in made:
        stage.api.delete(stage.path(one))
        stage.api.wait_gone(stage.path(one))
    spec = stage.get(g)["spec"]
    assert spec == {"token": "secret", "nested": {"other": "mine"}, "plain": items}


def test_a_value_moves_with_the_path_and_the_target_of_its_injection(
    injecting: Injecting, stage: Stage
) -> None:
    g, h = gadget("g"), gadget("h")
    stage.make(build.secret("s", {"k": "secret"}), gadget("g"), gadget("h"))
    one = injection("one", source("s", "k"), g, ".spec.token", deletionPolicy="Remove")
    keeps = injection("keeps", source("s", "k"), g, ".spec.free.a")
    stage.make(one, keeps)
    injecting.run()
    injecting.holds(g, "secret", "spec", "token")
    injecting.said(one, "Injected")
    injecting.said(keeps, "Injected")
    injecting.edit(keeps, to={"path": ".spec.free.b"})
    injecting.said(keeps, "Injected", words="free.b")
    assert stage.get(g)["spec"]["free"] == {"b": "secret"}

    injecting.edit(one, to={"path": ".spec.nested.token"})
    injecting.holds(g, "secret", "spec", "nested", "token")
    injecting.said(one, "Injected", words="nested")
    assert "token" not in stage.get(g)["spec"]

    injecting.edit(one, to={"name": "h"})
    injecting.holds(h, "secret", "spec", "nested", "token")
    injecting.said(one, "Injected", words="/h")
    assert "token" not in str(stage.get(g)["spec"])


def test_whoever_leads_keeps_injections_and_nobody_else(
    injecting: Injecting, stage: Stage, audit: Audit
) -> None:
    one = injection("one", source("s", "k"), gadget("g"), ".spec.token")
    stage.make(build.secret("s", {"k": "1"}), gadget("g"), one)
    leads = ("--leader-election", "true")
    first = injecting.run(*leads, wait="leading")
    second = injecting.run(*leads)
    injecting.holds(gadget("g"), "1", "spec", "token")
    injecting.said(one, "Injected")
    assert len(writes(audit(injecting.kubeconfig), "gadgets")) == 1

    assert first.stop() == 0
    stage.change("Secret", "s", k="2")
    injecting.holds(gadget("g"), "2", "spec", "token")
    second.wait_for(lambda line: line["msg"] == "done" and line["reason"] == "Injected")
    assert len(writes(audit(injecting.kubeconfig), "gadgets")) == 2
