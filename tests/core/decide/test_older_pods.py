"""What is said of pods that nothing rolled: no command says the opposite of another."""

from collections.abc import Mapping
from datetime import datetime, timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.build import DEPLOYMENT, EAGER, NOW, content, reference, snapshot
from tests.core.cluster import APP

from reroll.core.decide.chains import decide
from reroll.core.decide.older_pods import is_told, older_than_content, weighed
from reroll.core.decide.plan import Effect, Plan
from reroll.core.model.digest import reference_digest
from reroll.core.model.moment import Moment
from reroll.core.model.record import Record
from reroll.core.observe.provenance import Write, Writes
from reroll.core.observe.staleness import Finding, HeldSince, Verdict, judge
from reroll.core.policy.references import Use
from reroll.core.tables.kinds import Strategy
from reroll.core.tables.reasons import Reason

USED = reference(APP)
OLD_RUN = "pods from before that roll still run"
HOUR = timedelta(hours=1)
USE = Use("ConfigMap", APP.name, "envFrom of container main", container="main")


def at(hours: int) -> datetime:
    return NOW - 24 * HOUR + hours * HOUR


def audited(started: datetime, written: datetime) -> list[Finding]:
    """What `reroll audit` finds."""
    writes = Writes(at(-100), (Write("kubectl", written, frozenset("a"), only_data=True),))
    starts: Mapping[str, HeldSince] = {"main": HeldSince(started)}
    return list(judge("shop", [USE], starts, lambda _: writes))


def told(record: Record | None, started: datetime, written: datetime) -> Plan:
    """What `explain`, `plan` and `sync` tell."""
    held = content({"a": "new"}, Moment(0, 50, written))
    seen = snapshot({USED: held}, record)
    older = older_than_content(seen, audited(started, written))
    return weighed(decide(seen, NOW), seen, older)


def recorded(digest: str, written: datetime, rolled: datetime | None, why: str) -> Record:
    known = {"configmap/app": digest}
    return Record(1, rolled or written, why, known, rolled=rolled)


DIGEST = reference_digest(USED, content({"a": "new"}), "") or ""
hours = st.integers(0, 23)


@given(
    hours,
    hours,
    st.none() | st.sampled_from([DIGEST, "old"]),
    st.none() | hours,
    st.sampled_from(["Adopted", "ConfigChanged", "KeyLost", "RecordRestored"]),
)
def test_what_is_stale_by_its_times_is_never_called_up_to_date_without_a_word(
    started: int, written: int, digest: str | None, rolled: int | None, why: str
) -> None:
    record = digest and recorded(digest, at(written), None if rolled is None else at(rolled), why)
    stale = audited(at(started), at(written))[0].verdict is Verdict.STALE

    found = told(record or None, at(started), at(written))

    leaves_pods = found.strategy is None and not found.reason.held
    says_so = is_told(found) or "was written since" in found.message or OLD_RUN in found.message
    assert says_so is (stale and leaves_pods)
    if found.reason is Reason.PODS_OLDER:
        assert (found.effect, rolled is None or why == "KeyLost") == (Effect.STALE, True)


def test_a_record_of_an_adoption_proves_nothing_about_older_pods() -> None:
    adoption = recorded(DIGEST, at(5), None, "Adopted")

    assert told(adoption, started=at(6), written=at(5)).reason is Reason.UP_TO_DATE
    older = told(adoption, started=at(4), written=at(5))
    assert older.reason is Reason.PODS_OLDER
    assert older.message.endswith("`reroll sync --stale` rolls them: ConfigMap shop/app")
    assert older.actions == ()


def test_adopting_says_it_too_and_rolls_nothing() -> None:
    found = told(None, started=at(4), written=at(5))

    assert (found.reason, found.strategy) == (Reason.ADOPTED, None)
    assert is_told(found)


def test_a_record_of_a_roll_is_believed_and_what_the_times_say_is_explained() -> None:
    rolled = recorded(DIGEST, at(2), at(3), "ConfigChanged")

    found = told(rolled, started=at(4), written=at(5))

    assert found.reason is Reason.UP_TO_DATE
    assert found.message.endswith(
        "ConfigMap shop/app was written since, with the content that they have"
    )


def test_pods_that_a_rollout_has_not_replaced_yet_are_not_said_to_have_the_content() -> None:
    rolled = recorded(DIGEST, at(5), at(6), "ConfigChanged")

    found = told(rolled, started=at(4), written=at(5))

    assert found.reason is Reason.UP_TO_DATE
    assert found.message == (
        "the workload rolled for the current configuration; "
        f"{OLD_RUN}, with an older ConfigMap shop/app"
    )


@pytest.mark.parametrize("strategy", [Strategy.NOTIFY])
def test_a_strategy_that_leaves_pods_alone_proves_nothing(strategy: Strategy) -> None:
    policy = msgspec.structs.replace(EAGER, strategy=strategy)
    held = content({"a": "new"}, Moment(0, 50, at(5)))
    record = recorded(DIGEST, at(2), at(6), "ConfigChanged")
    seen = snapshot({USED: held}, record, kind=DEPLOYMENT, policy=policy)
    older = older_than_content(seen, audited(at(4), at(5)))

    assert weighed(decide(seen, NOW), seen, older).reason is Reason.PODS_OLDER


def test_a_source_that_does_not_count_is_none_of_it() -> None:
    seen = snapshot({reference(APP, "b"): content({"b": "x"})})
    keyed = Use("ConfigMap", APP.name, "env A", keys=frozenset("a"), container="main")
    writes = Writes(at(0), (Write("kubectl", at(5), frozenset("a"), only_data=True),))
    found = list(judge("shop", [keyed], {"main": HeldSince(at(4))}, lambda _: writes))

    assert found[0].verdict is Verdict.STALE
    assert older_than_content(seen, found) == ()
