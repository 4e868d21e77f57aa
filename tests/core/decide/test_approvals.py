"""Approvals: a content waits until somebody approved that very content."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest
from tests.core.build import EAGER, NOW, configmap, content, reference, secret, snapshot
from tests.core.decide.test_decide_revisions import APP, DB, ONE, TWO, name, pins, record, seen

from reroll.core.decide.chains import decide
from reroll.core.decide.plan import Plan
from reroll.core.dialects.annotations import SOURCE_ANNOTATIONS, parsed
from reroll.core.model.approval import Approval, Ruling
from reroll.core.model.content import Content
from reroll.core.model.moment import Moment
from reroll.core.model.reference import Reference
from reroll.core.model.timing import SourceTiming
from reroll.core.observe.approval import content_ids
from reroll.core.observe.snapshot import Keys
from reroll.core.policy import approval
from reroll.core.revisions.pins import read_pins
from reroll.core.tables.reasons import Reason

ASKING = msgspec.structs.replace(EAGER, approval=Approval(required=True))
A_MINUTE = timedelta(minutes=1)


def the_id(one: Reference, held: Content) -> str:
    (found,) = content_ids(one.source, held)
    return found


def said(held: Content, **fields: Any) -> Content:
    return msgspec.structs.replace(held, approval=Approval(**fields))


def look(held: Content, policy: Any = EAGER, **more: Any) -> Plan:
    return decide(snapshot({APP: held}, record({APP: ONE}, None), policy=policy, **more), NOW)


def urgent(held: Content) -> Content:
    return msgspec.structs.replace(held, timing=SourceTiming(urgent=True))


THIS = Ruling(the_id(APP, TWO), "alice")
OTHER = Ruling(the_id(APP, ONE), "alice")
NO = Ruling(the_id(APP, TWO), "bob", "wrong pool size")


@pytest.mark.parametrize(
    ("held", "policy", "reason"),
    [
        (TWO, EAGER, Reason.CONFIG_CHANGED),
        (said(TWO, required=True), EAGER, Reason.UNAPPROVED),
        (TWO, ASKING, Reason.UNAPPROVED),
        (said(TWO, required=True, approved=THIS), EAGER, Reason.CONFIG_CHANGED),
        (said(TWO, approved=THIS), ASKING, Reason.CONFIG_CHANGED),
        (said(TWO, required=True, approved=OTHER), EAGER, Reason.UNAPPROVED),
        (said(TWO, required=True, approved=THIS, rejected=NO), EAGER, Reason.UNAPPROVED),
        (said(TWO, rejected=NO), EAGER, Reason.CONFIG_CHANGED),
        (urgent(said(TWO, required=True)), EAGER, Reason.CONFIG_CHANGED),
    ],
    ids=[
        "nobody asks", "the source asks", "the workload asks", "approved on the source",
        "approved for the workload", "approved with another content", "rejected after all",
        "rejected where nobody asks", "urgent",
    ],
)  # fmt: skip
def test_only_the_content_that_was_approved_rolls(
    held: Content, policy: Any, reason: Reason
) -> None:
    assert look(held, policy).reason is reason


def test_a_rejection_says_who_and_why() -> None:
    message = look(said(TWO, required=True, rejected=NO)).message
    assert "was rejected by bob: wrong pool size" in message


def test_what_waits_names_the_command_that_approves_it() -> None:
    message = look(said(TWO, required=True)).message
    assert f"`reroll approve configmap/app -n shop --content {THIS.content}`" in message


def test_a_source_of_another_namespace_shows_no_digest() -> None:
    far = reference(configmap("app", "vault"))
    held = said(TWO, required=True)
    plan = decide(snapshot({far: held}, record({far: ONE}, None)), NOW)
    assert plan.reason is Reason.UNAPPROVED
    assert the_id(far, held) not in plan.message


def test_people_are_told_again_after_the_time_out_and_nothing_rolls() -> None:
    changed = msgspec.structs.replace(TWO, changed=Moment(200, 201, NOW - A_MINUTE))
    waits = look(said(changed, required=True, timeout=2 * A_MINUTE))
    assert (waits.reason, waits.look_at) == (Reason.UNAPPROVED, NOW + A_MINUTE)
    late = look(said(changed, required=True, timeout=A_MINUTE))
    assert (late.reason, late.actions) == (Reason.APPROVAL_OVERDUE, ())
    refused = look(said(changed, required=True, timeout=A_MINUTE, rejected=NO))
    assert refused.reason is Reason.UNAPPROVED


def test_a_secret_is_approved_by_a_digest_with_any_known_key() -> None:
    keys: dict[str, bytes | None] = {"old": b"1" * 32, "new": b"2" * 32}
    held = content({"p": "y"}, Moment(200, 201, NOW), hmac=keys)
    plain = content({"p": "y"})
    ids = content_ids(DB.source, held)
    assert len(ids) == 2
    assert ids.isdisjoint(content_ids(DB.source, plain))
    before = record({DB: content({"p": "x"}, hmac=keys)}, None)
    for one in ids:
        approved = said(held, required=True, approved=Ruling(one, "alice"))
        plan = decide(snapshot({DB: approved}, before, keys=Keys("new", frozenset(keys))), NOW)
        assert plan.reason is Reason.CONFIG_CHANGED


def test_with_revisions_it_rolls_with_the_rest_and_keeps_the_copy_of_what_waits() -> None:
    db = content({"p": "y"}, Moment(200, 201, NOW))
    had = content({"p": "x"}, Moment(by=90))
    both = {("ConfigMap", "app"): name(APP, ONE), ("Secret", "db"): name(DB, had)}
    asked = said(TWO, required=True)
    plan = decide(seen({APP: asked, DB: db}, record({APP: ONE, DB: had}, both), template=both), NOW)
    assert plan.reason is Reason.CONFIG_CHANGED
    assert plan.record is not None
    got = read_pins(plan.record.pins or "")
    assert got == {**pins(ONE), ("Secret", "db"): name(DB, db)}
    assert plan.record.by == ["secret/db"]


def test_what_is_no_ruling_is_a_problem_and_no_approval() -> None:
    values: dict[str, Any] = {}
    bad = dict(
        parsed(
            SOURCE_ANNOTATIONS,
            {
                "reroll.dev/approved": "yes",
                "reroll.dev/rejected": f"{THIS.content} by bob",
                "reroll.dev/approval": "none",
            },
            values,
        )
    )
    assert set(bad) == {"reroll.dev/approved", "reroll.dev/rejected", "reroll.dev/approval"}
    assert values == {}


def test_rulings_are_read_as_they_are_written() -> None:
    named = Ruling("5f" * 16, "system:serviceaccount:shop:by me", "")
    assert approval.parse_approved(approval.approved_text(named)) == named
    why = Ruling("5f" * 16, "oidc:bob", "no: not by noon")
    assert approval.parse_rejected(approval.rejected_text(why)) == why


def test_secret_and_configmap_of_one_name_are_two_contents() -> None:
    assert content_ids(secret("a"), ONE) != content_ids(configmap("a"), ONE)
