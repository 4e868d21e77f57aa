"""Properties of every plan, whatever is seen: it is stable, and carrying it out ends the matter."""

from datetime import timedelta
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from tests.core.build import NOW, content, snapshot

from reroll.core.decide.chains import decide
from reroll.core.model.digest import ABSENT, AWAITED
from reroll.core.model.key import Key
from reroll.core.model.moment import Moment
from reroll.core.model.record import Record
from reroll.core.model.reference import Reference
from reroll.core.observe.snapshot import Absence, History, Snapshot
from reroll.core.tables.kinds import KINDS
from reroll.core.tables.reasons import Reason

held_values = st.dictionaries(st.sampled_from("ab"), st.sampled_from("xy"), max_size=2)
moments = st.builds(
    Moment,
    st.integers(0, 400),
    st.integers(0, 400),
    st.none() | st.integers(-5, 5).map(lambda seconds: NOW + timedelta(seconds=seconds)),
)
flags = {"created": st.booleans(), "ignored": st.booleans()}
contents = st.builds(content, held_values, moments, **flags)
any_source = st.sampled_from([Absence.MISSING, Absence.FORBIDDEN]) | contents
kinds = st.sampled_from(["ConfigMap", "Secret", "SecretProviderClass"])
refs = st.builds(
    Reference,
    st.builds(
        Key, st.sampled_from(["ConfigMap", "Secret"]), st.just("shop"), st.sampled_from("xy")
    ),
    st.none() | st.frozensets(st.sampled_from("ab")),
    st.frozensets(st.sampled_from("ab"), max_size=1),
    st.booleans(),
    added=st.booleans(),
)
entries = st.sampled_from(["configmap/x", "configmap/y#a", "secret/x", "secret/y#!a", "gone", "*"])
records = st.none() | st.builds(
    Record,
    st.integers(0, 9),
    moments.map(lambda moment: moment.at or NOW),
    st.just(""),
    st.dictionaries(entries, st.sampled_from(["old", ABSENT, AWAITED])),
    k=st.sampled_from(["", "k0"]),
)


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    chosen = {ref.source: ref for ref in draw(st.lists(refs, max_size=3))}.values()
    lost = {"last": draw(records), "blind_after": draw(st.none() | st.just(150))}
    moment: dict[str, Any] = {"template": draw(moments), "reverted": draw(st.booleans()), **lost}
    return snapshot(
        {ref: draw(any_source) for ref in chosen},
        draw(records),
        kind=draw(st.sampled_from(KINDS)),
        changes=moment | {"still": draw(st.booleans()), "replaces_pods": draw(st.booleans())},
        history=draw(st.none() | st.builds(History, moments.map(lambda m: m.at))),
    )


@given(snapshots())
def test_planning_twice_is_planning_once(seen: Snapshot) -> None:
    assert decide(seen, NOW) == decide(seen, NOW)


@given(snapshots())
def test_after_its_record_is_written_a_plan_has_nothing_more_to_do(seen: Snapshot) -> None:
    first = decide(seen, NOW)
    if first.record is None or first.reason is Reason.RECORD_RESTORED:
        return  # What comes back is as it was; what it lacks is recorded after that.
    wrote = msgspec.structs.replace(seen.workload, record=first.record, last=None, reverted=False)

    changed_hands = first.record.k != (seen.record.k if seen.record else first.record.k)
    handovers = seen.handovers + changed_hands

    second = decide(msgspec.structs.replace(seen, workload=wrote, handovers=handovers), NOW)

    assert second.record is None
    assert second.reason is Reason.UP_TO_DATE
