"""What `reroll doctor` makes of facts: each check on its own, without a cluster."""

import base64
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from tests.support import build

from reroll.answers.controllers import Lease, Variable
from reroll.answers.doctor import admission, injections, installation, keys, rights, scrape, server
from reroll.answers.doctor.admission import Admission
from reroll.answers.doctor.findings import Finding, Level, worst
from reroll.answers.doctor.injections import InjectionStatus
from reroll.answers.doctor.scrape import parse
from reroll.answers.installations import installations
from reroll.answers.installed_settings import OurContainer, Volume, _Mount, settings_source
from reroll.core.model.gates import Analysis, Gate
from reroll.core.model.injection import GROUP, PLURAL, VERSION
from reroll.core.model.key import Key
from reroll.core.model.metadata import Manifest
from reroll.core.tables.kinds import KINDS
from reroll.core.tables.rights import EVERYTHING, OPTIONAL, Feature, cluster, own
from reroll.features.checkup import access
from reroll.features.checkup.switched_on import questions_of, switched_on
from reroll.kube import resources
from reroll.settings.table import Settings
from reroll_dev.pki import new_authority

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
PINNED = (Key("Deployment", "shop", "web"),)


def levels(findings: Iterable[Finding]) -> list[str]:
    return [one.level.value for one in findings]


def test_the_worst_finding_counts() -> None:
    assert worst([]) is Level.OK
    assert worst([Finding("a", Level.WARNING, ""), Finding("b", Level.NOTE, "")]) is Level.WARNING


# The API server


@pytest.mark.parametrize(
    ("version", "level"),
    [("v1.36.3", "ok"), ("v1.28.0+k3s1", "ok"), ("v1.27.16", "problem"), ("", "note")],
)
def test_an_api_server_that_is_too_old_is_a_problem(version: str, level: str) -> None:
    first, *_ = server.judge(server.Served(server.Version(version), (), streams=True))

    assert first.level.value == level


def test_what_an_api_server_lacks_is_worth_a_note_and_no_more() -> None:
    bare = list(server.judge(server.Served(server.Version("v1.30.0"), (), streams=False)))
    everything = [row.resource for row in server.OPTIONAL] + [server.MUTATING_POLICIES[1]]
    full = list(server.judge(server.Served(server.Version("v1.35.0"), everything, streams=True)))
    older = list(server.judge(server.Served(server.Version("v1.34.0"), everything, streams=True)))

    assert levels(bare) == ["ok", "note", "note", "note", "note", "note"]
    assert levels(full) == ["ok"] * 6
    assert "MutatingAdmissionPolicy v1beta1" in full[-1].sentence
    assert full[-1].sentence.endswith("if its feature gate of that name is on")
    assert older[-1].level.value == "note"
    assert "cannot rewrite pods before 1.35" in older[-1].sentence


def test_a_kind_of_the_config_file_that_is_not_served_is_told() -> None:
    widget = "Widget.example.com"
    assert server.configured(widget, served=True, compared=True).level is Level.OK
    unchecked = server.configured(widget, served=True, compared=False)
    assert (unchecked.level, "was not checked" in unchecked.sentence) == (Level.NOTE, True)
    assert server.misfit("Widget.example.com", "template: x").level is Level.WARNING
    assert "is not served" in server.configured(widget, served=False, compared=False).sentence


# Injections


def injection(status: str, message: str = "") -> InjectionStatus:
    ready = {"type": "Ready", "status": status, "message": message}
    return msgspec.convert(
        {"metadata": {"name": "x", "namespace": "shop"}, "status": {"conditions": [ready]}},
        InjectionStatus,
    )


def test_the_doctor_looks_for_the_injections_that_there_are() -> None:
    found = resources.INJECTIONS

    assert (found.group, found.version, found.plural) == (GROUP, VERSION, PLURAL)


def test_injections_that_are_not_in_place_are_told_with_their_own_words() -> None:
    bad = injection("False", "Secret shop/s3 does not exist")

    [told] = injections.judge([injection("True"), bad], is_on=True)

    assert told.sentence == "Injection shop/x is not in place: Secret shop/s3 does not exist"
    assert levels(injections.judge([injection("True")], is_on=True)) == ["ok"]
    assert levels(injections.judge([], is_on=True)) == []
    assert levels(injections.judge([bad], is_on=False)) == ["warning"]
    assert len(list(injections.judge([bad] * 30, is_on=True))) == 11


# Rights


def test_the_questions_are_the_rules_of_the_roles_one_by_one() -> None:
    optional = tuple(one.value for one in OPTIONAL)
    gates = (Gate("checks", Analysis("error-rate")),)
    settings = Settings(
        features=optional, webhook=":9443", injections=True, lease="lease", gates=gates
    )
    asked = questions_of(msgspec.structs.replace(settings, digest_key="key"), "reroll")

    in_roles = {
        (rule["apiGroups"][0], rule["resources"][0], verb, name)
        for rule in (
            *cluster(KINDS, features=EVERYTHING),
            *own("key", "lease", features=EVERYTHING),
        )
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", [""])
    }
    assert {(one.group, one.resource, one.verb, one.name) for one in asked} == in_roles
    assert len(asked) == len(set(asked))


def test_with_namespaces_nothing_is_asked_of_the_whole_cluster() -> None:
    settings = Settings(namespaces=("shop", "bank"))

    places = {one.namespace for one in questions_of(settings, "reroll")}

    assert places == {"shop", "bank", "reroll"}


def test_what_is_left_out_needs_no_rights() -> None:
    settings = Settings(exclude_kinds=("Job",), exclude_sources=("Secret",), features=("evict",))
    asked = questions_of(msgspec.structs.replace(settings, leader_election=False), "reroll")

    assert {one.feature for one in asked} == {Feature.ROLLING, Feature.EVICT}
    assert {one.resource for one in asked if one.group == "batch"} == {"cronjobs"}
    assert [one for one in asked if one.resource == "secrets" and not one.namespace] == []


def test_features_follow_from_the_settings_that_switch_them_on() -> None:
    usual = switched_on(Settings())
    more = switched_on(Settings(webhook=":9443", injections=True, features=("revisions",)))

    assert Feature.EVICT in usual
    assert usual.isdisjoint({Feature.WEBHOOK, Feature.INJECTIONS})
    assert {Feature.WEBHOOK, Feature.INJECTIONS, Feature.REVISIONS} <= more
    assert Feature.EVICT not in more


def test_missing_rights_are_told_by_feature_and_place() -> None:
    one = access.Question(Feature.EVICT, "create", "", "pods/eviction", "")
    other = access.Question(Feature.ROLLING, "get", "", "secrets", "reroll", "key")

    found = list(rights.judge([other, one], [other, one], "it"))

    assert [finding.sentence for finding in found] == [
        "rolling: it may not get secrets 'key' in namespace reroll",
        "evict: it may not create pods/eviction in all namespaces",
    ]


# The controller


def deployment(image: str = "example.com/reroll:0.2.0", **more: Any) -> Manifest:
    made = build.deployment("reroll", **more)
    made["spec"]["template"]["spec"]["containers"][0] |= {"image": image, "args": ["run"]}
    made["metadata"]["namespace"] = "reroll"
    return msgspec.json.decode(msgspec.json.encode(made), type=Manifest)


def found(*manifests: Manifest) -> list[installation.Installation]:
    return installations((KINDS[0], one) for one in manifests)


def with_ready(made: Manifest, ready: int) -> Manifest:
    status = msgspec.Raw(msgspec.json.encode({"readyReplicas": ready}))
    return msgspec.structs.replace(made, status=status)


@pytest.mark.parametrize(
    ("replicas", "ready", "level"),
    [(0, 0, "problem"), (2, 0, "problem"), (2, 1, "warning"), (2, 2, "ok")],
)
def test_replicas_that_are_not_ready_are_told(replicas: int, ready: int, level: str) -> None:
    here = found(with_ready(deployment(replicas=replicas), ready))

    assert levels(installation.deployments(here)) == [level]


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("example.com:5000/tools/reroll:1.2.3", "1.2.3"),
        ("example.com:5000/reroll", ""),
        ("reroll:1.2.3@sha256:00", "1.2.3"),
        ("reroll@sha256:00", ""),
        ("reroll:v1.2.3-rc1", "v1.2.3-rc1"),
        ("reroll:latest", ""),
        ("reroll:4dd5f229", ""),
    ],
)
def test_the_version_is_the_tag_of_the_image(image: str, version: str) -> None:
    [one] = found(deployment(image))

    assert one.version == version
    assert one.account == "default"


@pytest.mark.parametrize(
    ("words", "flags", "config"),
    [
        (["run"], {}, ("", "")),
        (["run", "--lease=a", "--rate", "5"], {"lease": "a", "rate": "5"}, ("", "")),
        (["run", "--auto-all", "--lease=a"], {"lease": "a", "auto_all": "true"}, ("", "")),
        (["run", "--config", "/etc/reroll/reroll.yaml"], {}, ("settings", "reroll.yaml")),
        (["run", "--config=/elsewhere/reroll.yaml", "--unknown"], {}, ("", "")),
    ],
)  # fmt: skip
def test_what_an_installation_is_told_is_read_from_its_template(
    words: list[str], flags: dict[str, str], config: tuple[str, str]
) -> None:
    container = OurContainer(args=words, mounts=[_Mount("config", "/etc/reroll/")])
    container.env = [Variable("REROLL_LEASE", "b"), Variable("HOME", "/"), Variable("REROLL_X")]
    volumes = [Volume("config", Volume.ConfigMap("settings")), Volume("other")]

    found = settings_source(container, volumes)

    assert found.flags == flags
    assert found.variables == {"REROLL_LEASE": "b"}
    assert (found.config_map, found.key) == config


def test_other_deployments_are_no_installation() -> None:
    assert found(deployment("example.com/web:1")) == []


def test_versions_that_differ_are_told() -> None:
    same = installation.versions([("a", "v0.2.0"), ("b", "")], "0.2.0")
    mixed = installation.versions([("a", "0.1.0"), ("b", "0.2.0")], "0.2.0")

    assert levels(same) == ["ok"]
    assert levels(mixed) == ["warning", "ok", "warning"]


def lease(holder: str | None, age: float) -> Lease:
    renewed = (NOW - timedelta(seconds=age)).isoformat()
    spec = {"holderIdentity": holder, "renewTime": renewed, "leaseDurationSeconds": 15}
    return msgspec.json.decode(
        msgspec.json.encode({"metadata": {"name": "reroll"}, "spec": spec}), type=Lease
    )


@pytest.mark.parametrize(
    ("now", "before", "wanted", "level"),
    [
        (None, None, True, "problem"),
        (None, None, False, "note"),
        (lease(None, 1), None, True, "problem"),
        (lease("a", 3), None, True, "ok"),
        (lease("a", 60), lease("a", 60), True, "problem"),
        (lease("a", 60), lease("a", 64), True, "warning"),
    ],
    ids=[
        "none, and there is a controller",
        "none, and there is no controller",
        "held by nobody",
        "renewed",
        "not renewed",
        "renewed by a clock that differs",
    ],
)
def test_a_lease_is_judged_by_whether_it_changes(
    now: Lease | None, before: Lease | None, wanted: bool, level: str
) -> None:
    finding = installation.lease(NOW, now, before, "Lease x", wanted=wanted)

    assert finding.level.value == level


# The digest key


@pytest.mark.parametrize(
    ("ring", "current", "level"),
    [
        ({"a": bytes(32)}, "a", "ok"),
        ({"a": bytes(32), "b": bytes(32)}, "b", "note"),
        ({"a": bytes(32)}, None, "warning"),
    ],
)
def test_a_digest_key_must_be_named(
    ring: dict[str, bytes], current: str | None, level: str
) -> None:
    assert keys.judge("Secret x", ring, current).level.value == level


def test_records_with_a_key_that_is_not_there_are_counted() -> None:
    [finding] = keys.unknown({"b": 3}, "Secret x")

    assert finding.level.value == "warning"
    assert finding.sentence.startswith("3 records made with the digest key b, which Secret x")
    assert list(keys.unknown({}, "Secret x")) == []


# Metrics

WELL = """\
# TYPE reroll_build_info gauge
reroll_build_info{version="0.2.0"} 1
reroll_leader 1
reroll_watch_age_seconds{resource="secrets"} 3
reroll_watch_age_seconds{resource="rollouts.argoproj.io"} 900
reroll_watch_state{resource="secrets",state="watching"} 1
reroll_watch_state{resource="rollouts.argoproj.io",state="absent"} 1
reroll_feature_up{feature="evict"} 1
"""


def test_metrics_of_a_replica_that_is_well_have_nothing_to_tell() -> None:
    one = parse("a", WELL)

    assert levels(scrape.judge([one])) == ["ok"]
    assert one.version == "0.2.0"
    assert one.leads


@pytest.mark.parametrize(
    ("line", "level", "word"),
    [
        ('reroll_watch_age_seconds{resource="x"} 500', "problem", "heard nothing of x"),
        ('reroll_feature_up{feature="evict"} 0', "problem", "evict is off"),
        ("reroll_queue_age_seconds 90", "warning", "waiting for 90 s"),
        ("reroll_events_dropped_total 3", "warning", "3 Events"),
        ('reroll_decisions_total{reason="Forbidden",result="failed"} 7', "note", "7 decisions"),
    ],
)
def test_metrics_of_a_replica_that_is_not_well_tell_what(line: str, level: str, word: str) -> None:
    bad = [
        one for one in scrape.judge([parse("a", f"{WELL}{line}\n")]) if one.level is not Level.OK
    ]

    assert levels(bad) == [level]
    assert word in bad[0].sentence
    assert bad[0].todo


def test_watches_that_are_forbidden_or_fail_are_told_and_two_leaders_too() -> None:
    text = WELL.replace('"watching"', '"forbidden"')

    told = list(scrape.judge([parse("a", text), parse("b", WELL)]))

    assert any("may not watch secrets" in one.sentence for one in told)
    assert any("both say that they lead" in one.sentence for one in told)


@pytest.mark.parametrize("text", ["", "<html>", "other_metric 1\n", "reroll_build_info{ 1"])
def test_what_is_no_metrics_of_ours_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse("a", text)


# Who rewrites pods


def meta(name: str) -> dict[str, str]:
    return {"name": name}


POLICY = msgspec.convert({"metadata": meta("pins")}, admission.Policy)
BINDING = msgspec.convert(
    {"metadata": meta("b"), "spec": {"policyName": "pins"}}, admission.Binding
)


def webhook(bundle: bytes | None, *, service: str = "reroll-webhook") -> admission.Webhook:
    client: dict[str, object] = {"service": {"namespace": "reroll", "name": service}}
    if bundle is not None:
        client["caBundle"] = base64.b64encode(bundle).decode()
    hook = {"name": "pins.reroll.dev", "clientConfig": client}
    return msgspec.convert({"metadata": meta("pins"), "webhooks": [hook]}, admission.Webhook)


THERE = (("reroll", "reroll-webhook"),)


@pytest.fixture(scope="module")
def authority() -> bytes:
    """The certificate of an authority, good for years from today."""
    return new_authority().certificate


@pytest.mark.parametrize(
    ("installed", "level", "word"),
    [
        (Admission(), "problem", "nothing rewrites the pods of Deployment shop/web"),
        (Admission((POLICY,), (BINDING,)), "ok", "rewrites the pods"),
        (Admission((POLICY,)), "problem", "has no binding"),
        (Admission(webhooks=(webhook(None),), services=THERE), "problem", "no caBundle"),
        (Admission(webhooks=(webhook(b"x"),), services=THERE), "problem", "no certificate"),
        (Admission(unseen="rights"), "note", "was not checked"),
    ],
)
def test_what_rewrites_pods_must_be_whole(installed: Admission, level: str, word: str) -> None:
    nobody = PINNED if installed == Admission() else ()
    [finding] = admission.judge(installed, nobody, NOW)

    assert finding.level.value == level
    assert word in finding.sentence


def test_a_policy_of_the_beta_may_not_be_heeded_and_that_is_said() -> None:
    found = list(admission.judge(Admission((POLICY,), (BINDING,), version="v1beta1"), (), NOW))

    assert levels(found) == ["ok", "note"]
    assert "heeded only where the API server's feature gate" in found[1].sentence
    assert levels(admission.judge(Admission(version="v1beta1"), (), NOW)) == ["note"]


def test_a_webhook_needs_an_authority_that_is_valid_and_a_service(authority: bytes) -> None:
    good = Admission(webhooks=(webhook(authority),), services=THERE)
    now = datetime.now(UTC)

    assert levels(admission.judge(good, (), now)) == ["ok"]
    [late] = admission.judge(good, (), now + timedelta(days=365 * 50))
    assert "is out of date since" in late.sentence
    [nowhere] = admission.judge(good._replace(services=()), (), now)
    assert "Service reroll/reroll-webhook does not exist" in nowhere.sentence


def test_where_nobody_has_pins_nothing_need_be_installed() -> None:
    assert levels(admission.judge(Admission(), (), NOW)) == ["note"]
