"""What Reloader leaves in a pod template: the same names, places and values."""

# ruff: noqa: E501  the tables read best one row a line

import hashlib
import json
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.build import (
    DEPLOYMENT,
    NOW,
    at_path,
    configmap,
    content,
    document,
    marks,
    patched,
    reference,
    secret,
    template,
    workload,
)
from tests.core.reloads import (
    ANNOTATIONS,
    APP,
    DB,
    HASH,
    KEYED,
    KINDS_OF_SOURCES,
    SAME,
    TERM,
    held,
    look,
    record,
    treated,
)

from reroll.core.decide.actions import SetMarks, WriteRecord
from reroll.core.decide.chains import decide
from reroll.core.dialects.reloader_marks import (
    DELETED,
    LAST_RELOADED,
    Carriers,
    hash_source,
    variable,
)
from reroll.core.dialects.rows import Plain
from reroll.core.dialects.table import Dialects
from reroll.core.model.content import Term
from reroll.core.model.key import Key
from reroll.core.model.marks import Mark, write_marks
from reroll.core.model.moment import Moment
from reroll.core.policy.policy import Claim, Policy
from reroll.core.tables.kinds import Strategy
from reroll.core.tables.reasons import Reason
from reroll.core.write.patches import patch

# Names, hashes and places

NAMES = {
    "app": "STAKATER_APP_CONFIGMAP",
    "my-app.config": "STAKATER_MY_APP_CONFIG_CONFIGMAP",
    "a--b": "STAKATER_A_B_CONFIGMAP",
    "1-a": "STAKATER_1_A_CONFIGMAP",
    "my.-app": "STAKATER_MY_APP_CONFIGMAP",
}


@pytest.mark.parametrize(("name", "expected"), NAMES.items(), ids=NAMES)
def test_the_variable_is_named_after_the_source(name: str, expected: str) -> None:
    assert variable(configmap(name)) == expected


def test_the_kind_is_a_part_of_the_name() -> None:
    assert variable(secret("db")) == "STAKATER_DB_SECRET"
    assert variable(Key("SecretProviderClass", "shop", "vault")) == "STAKATER_VAULT_SECRETPROVIDERCLASS"  # fmt: skip


VECTORS = {
    # Each is the SHA-1 of the text beside it, as `sha1sum` tells it.
    "nothing": ({}, {}, ""),
    "one value": ({"key": b"value"}, {}, "key=value"),
    "sorted": ({"b": b"2", "a": b"1"}, {}, "a=1;b=2"),
    "binary": ({"a": b"1"}, {"c": b"\x00\xff"}, "a=1;c=AP8="),
    "sorted as pieces": ({"a": b"1", "a-b": b"2"}, {}, "a-b=2;a=1"),
}


@pytest.mark.parametrize(("texts", "binaries", "text"), VECTORS.values(), ids=VECTORS)
def test_the_hash_of_a_source(texts: Any, binaries: Any, text: str) -> None:
    found = hash_source(Plain(configmap("app"), texts, binaries))

    assert found == hashlib.sha1(text.encode()).hexdigest()


def test_the_hash_of_known_values_never_changes() -> None:
    plain = Plain(configmap("app"), {"key": b"value"})
    vault = Plain(Key("SecretProviderClass", "shop", "vault"), {"secret/db": b"v2"})

    assert hash_source(plain) == "dc30e0faa89a70dec1033016a2309bbeb9efcbd0"
    text = b"SecretProviderClassName=vault;secret/db=v2"
    assert hash_source(vault) == hashlib.sha1(text).hexdigest()
    assert hashlib.sha1(b"__RELOADER_EMPTY_DELETE_MARKER__").hexdigest() == DELETED


@given(st.dictionaries(st.text(max_size=4), st.binary(max_size=4)))
def test_the_hash_does_not_depend_on_the_order(values: dict[str, bytes]) -> None:
    turned = dict(reversed(values.items()))

    assert hash_source(Plain(secret("db"), values)) == hash_source(Plain(secret("db"), turned))


def pods(*containers: dict[str, Any], init: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    volumes = [{"name": "v", "configMap": {"name": "app"}}]
    return {"spec": {"containers": list(containers), "initContainers": init or [], "volumes": volumes}}  # fmt: skip


USES = {"envFrom": [{"configMapRef": {"name": "app"}}]}
MOUNTS = {"volumeMounts": [{"name": "v", "mountPath": "/x"}]}
PLACES: dict[str, tuple[dict[str, Any], int]] = {
    "nobody uses it": (pods({"name": "a"}, {"name": "b"}), 0),
    "the one that uses it": (pods({"name": "a"}, {"name": "b", **USES}), 1),
    "the one that mounts it goes first": (pods({"name": "a", **USES}, {"name": "b", **MOUNTS}), 1),
    "the first of several": (pods({"name": "a"}, {"name": "b", **USES}, {"name": "c", **USES}), 1),
    "an init container has it": (pods({"name": "a"}, {"name": "b"}, init=[{"name": "i", **USES}]), 0),
    "an init container mounts it": (
        pods({"name": "a"}, {"name": "b", **USES}, init=[{"name": "i", **MOUNTS}]), 0,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("body", "place"), PLACES.values(), ids=PLACES)
def test_the_mark_goes_where_reloader_puts_it(body: dict[str, Any], place: int) -> None:
    made = workload(DEPLOYMENT, document(DEPLOYMENT, body))
    assert Carriers(made).of(configmap("app")) == place


# Marks of a roll


def test_each_source_that_changed_gets_its_variable() -> None:
    found = decide(look({APP: held(), DB: held(hash_="h2")}), NOW, SAME)

    assert found.reason is Reason.CONFIG_CHANGED
    assert marks(found) == (
        Mark("STAKATER_APP_CONFIGMAP", HASH, 0),
        Mark("STAKATER_DB_SECRET", "h2", 0),
    )


def test_a_source_that_did_not_change_gets_none() -> None:
    seen = look({APP: held(), DB: held()})
    now = decide(seen, NOW).record
    assert now is not None
    again = look({APP: held(), DB: held("other")}, record=msgspec.structs.replace(now, n=8))

    assert [mark.name for mark in marks(decide(again, NOW))] == ["STAKATER_DB_SECRET"]


def test_an_annotation_tells_of_the_last_source_as_json() -> None:
    (mark,) = marks(decide(look({APP: held(), DB: held(hash_="h2")}), NOW, ANNOTATIONS))

    assert (mark.name, mark.container) == (LAST_RELOADED, None)
    assert mark.value == (
        '{"type":"SECRET","name":"db","namespace":"shop","hash":"h2",'
        f'"containerRefs":["web"],"observedAt":{int(NOW.timestamp())}}}'
    )


def test_a_template_without_containers_gets_an_annotation() -> None:
    (mark,) = marks(decide(look({APP: held()}, changes={"containers": ()}), NOW))

    assert (mark.name, mark.container) == (LAST_RELOADED, None)
    assert json.loads(mark.value or "")["containerRefs"] == []


def test_a_value_that_is_there_already_is_made_another() -> None:
    seen = look({APP: held()}, changes={"marks": {"STAKATER_APP_CONFIGMAP": HASH}})

    found = decide(seen, NOW)

    assert found.record is not None
    assert marks(found)[0].value == f"{HASH}-{found.record.n}"


def test_keyed_digests_can_stand_in_for_hashes() -> None:
    seen = look({APP: content({"a": "v"}, Moment(200, 201))})
    seen = msgspec.structs.replace(
        seen, references=(reference(configmap("app"), terms=(Term("reloader"),)),)
    )

    (mark,) = marks(decide(seen, NOW, KEYED))

    assert mark.value == decide(seen, NOW, KEYED).record.s["configmap/app"]


def test_a_secret_has_a_keyed_digest_unless_the_settings_say_otherwise() -> None:
    found = decide(look({APP: held(), DB: held(hash_="h2")}), NOW)

    assert found.record is not None
    assert marks(found) == (
        Mark("STAKATER_APP_CONFIGMAP", HASH, 0),
        Mark("STAKATER_DB_SECRET", found.record.s["secret/db"], 0),
    )


@pytest.mark.parametrize("dialects", [SAME, ANNOTATIONS])
def test_no_setting_has_a_plain_hash_of_another_namespace_written(dialects: Dialects) -> None:
    for source in (Key("Secret", "vault", "db"), Key("ConfigMap", "vault", "app")):
        theirs = reference(source, terms=(TERM,))
        (mark,) = marks(decide(look({theirs: held(hash_="h2")}), NOW, dialects))
        assert "h2" not in (mark.value or "")


def test_a_hash_that_is_needed_is_waited_for() -> None:
    needs = reference(configmap("app"), terms=(Term("reloader", hashed=True),))

    found = decide(look({needs: content({"a": "v"}, Moment(200, 201))}), NOW)

    assert found.reason is Reason.WAITING


@pytest.mark.parametrize("strategy", [Strategy.RESTART, Strategy.EVICT, Strategy.NOTIFY])
def test_other_ways_to_roll_leave_no_marks(strategy: Strategy) -> None:
    assert marks(decide(look({APP: held()}, policy=treated(strategy=strategy)), NOW)) == ()


def test_a_workload_of_two_dialects_gets_the_marks_of_both() -> None:
    both = Policy(
        enabled=True,
        debounce=timedelta(),
        claims=(Claim(Term("reroll"), KINDS_OF_SOURCES), Claim(TERM, KINDS_OF_SOURCES)),
    )
    ours = reference(configmap("ours"), terms=(Term("reroll"),))
    shared = reference(configmap("app"), terms=(Term("reroll"), TERM))

    shared_and_ours = decide(look({shared: held(), ours: held()}, policy=both), NOW)
    names = [mark.name for mark in marks(shared_and_ours)]
    alone = [mark.name for mark in marks(decide(look({ours: held()}, policy=both), NOW))]

    assert names == ["reroll.dev/config-hash", "STAKATER_APP_CONFIGMAP"]
    assert alone == ["reroll.dev/config-hash"]


SHAPES: dict[str, Any] = {
    "no variables": None,
    "variables": [{"name": "A", "value": "1"}],
    "an old mark": [{"name": "A"}, {"name": "STAKATER_APP_CONFIGMAP", "value": "x"}, {"name": "B"}],
    "both marks": [{"name": "STAKATER_DB_SECRET"}, {"name": "STAKATER_APP_CONFIGMAP"}],
}
VALUES: dict[str, tuple[str | None, str | None]] = {
    "written": ("1", "2"),
    "taken away": (None, None),
    "one of each": (None, "2"),
    "the other of each": ("1", None),
}


@pytest.mark.parametrize("env", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_a_patch_and_a_document_say_the_same(env: Any, values: tuple[str | None, ...]) -> None:
    body = template(**({} if env is None else {"env": env}))
    before = document(DEPLOYMENT, body)
    new = tuple(
        Mark(name, value, 0)
        for name, value in zip(
            ("STAKATER_APP_CONFIGMAP", "STAKATER_DB_SECRET"), values, strict=True
        )
    )
    rolled = (WriteRecord(record(), unless_held=True), SetMarks(new))

    after = patched(before, patch(workload(DEPLOYMENT, before), DEPLOYMENT, rolled))

    expected = json.loads(json.dumps(body))
    write_marks(expected, new)
    made = at_path(after, DEPLOYMENT.template)["spec"]["containers"][0]
    wanted = expected["spec"]["containers"][0]
    assert made.get("env", []) == wanted.get("env", [])
