"""What holds workloads and what became of their rollouts, out of reports: each counted once."""

import pytest

from reroll.controller.exposition import Family
from reroll.controller.report import Report, Result
from reroll.controller.standings import ROLLBACKS, ROLLOUTS, UNHEALTHY, Standings
from reroll.core.model.key import Key
from reroll.core.tables.reasons import Reason

DONE, HELD, FAILED, NOTHING = Result.DONE, Result.HELD, Result.FAILED, Result.NOTHING
WEB, API = (Key("Deployment", "shop", name) for name in ("web", "api"))
Told = tuple[Reason, Result]
ROLL: Told = (Reason.CONFIG_CHANGED, DONE)
WELL: Told = (Reason.UP_TO_DATE, NOTHING)


class Counts:
    """Standings, and what they count in."""

    def __init__(self) -> None:
        self.rollouts = Family("rollouts", "counter", "", ("result",))
        self.rollbacks = Family("rollbacks", "counter", "", ("result",))
        self.trips = Family("trips", "counter", "")
        self.standings = Standings(self.rollouts, self.rollbacks, self.trips)

    def tell(self, *told: Told, key: Key = WEB) -> "Counts":
        for reason, result in told:
            strategy = "stamp" if (reason, result) == ROLL else ""
            self.standings.report(
                Report(key, "1", "apps/v1", reason, reason.sentence, result, strategy)
            )
        return self

    @property
    def outcomes(self) -> dict[str, float]:
        """What was counted, by result."""
        found = {label: self.rollouts.value(label) for label in ROLLOUTS.values()}
        found |= {f"back {label}": self.rollbacks.value(label) for label in ROLLBACKS.values()}
        return {label: number for label, number in found.items() if number}

    @property
    def unhealthy(self) -> dict[Reason, int]:
        return {reason: n for reason, n in self.standings.unhealthy().items() if n}


def told(*reports: Told) -> Counts:
    return Counts().tell(*reports)


VERDICTS = {Reason.FAILING: "failed", Reason.STUCK: "stuck"}


@pytest.mark.parametrize("reason", VERDICTS)
def test_a_verdict_counts_when_it_is_written_and_not_when_it_is_found(reason: Reason) -> None:
    assert told(ROLL, (reason, DONE), (reason, NOTHING), (reason, NOTHING)).outcomes == {
        VERDICTS[reason]: 1
    }
    assert told((reason, NOTHING), (reason, NOTHING)).outcomes == {}, "after a restart"


@pytest.mark.parametrize("reason", VERDICTS)
def test_where_nobody_judges_the_first_look_counts(reason: Reason) -> None:
    counts = told(ROLL, WELL, (reason, NOTHING), (reason, NOTHING))
    assert counts.outcomes == {VERDICTS[reason]: 1}
    assert counts.tell(ROLL, (reason, NOTHING)).outcomes == {VERDICTS[reason]: 2}


def test_rollouts_that_end_well_count() -> None:
    assert told(ROLL, WELL, (Reason.HEALTHY, DONE), WELL).outcomes == {"healthy": 1}
    assert told(ROLL, (Reason.COMPLETE, NOTHING), WELL).outcomes == {"complete": 1}


def test_a_rollback_counts_once_and_so_does_its_failure() -> None:
    back, found = (Reason.ROLLED_BACK, DONE), (Reason.ROLLED_BACK, NOTHING)
    counts = told(ROLL, (Reason.FAILING, DONE), back, found, (Reason.FINISHED, DONE), back, found)
    assert counts.outcomes == {"failed": 1, "back done": 1}
    counts.tell((Reason.ROLLBACK_FAILED, DONE), (Reason.ROLLBACK_FAILED, NOTHING))
    assert counts.outcomes == {"failed": 1, "back done": 1, "back failed": 1}
    assert told(found, (Reason.ROLLBACK_FAILED, NOTHING)).outcomes == {"back failed": 1}


def test_a_way_back_that_is_none_is_a_rollback_that_failed() -> None:
    counts = told(ROLL, (Reason.FAILING, DONE), *[(Reason.ROLLBACK_FAILED, HELD)] * 3)
    assert counts.outcomes == {"failed": 1, "back failed": 1}
    assert counts.unhealthy == {Reason.ROLLBACK_FAILED: 1}


@pytest.mark.parametrize("reason", UNHEALTHY)
def test_what_is_unhealthy_is_so_until_it_rolls_or_is_well(reason: Reason) -> None:
    kept = ((Reason.HELD, HELD), (Reason.FORBIDDEN, FAILED), (Reason.COPY_RESTORED, DONE))
    for ending in (ROLL, WELL, (Reason.HEALTHY, DONE), (Reason.COMPLETE, NOTHING)):
        counts = told(ROLL, (reason, DONE), *kept)
        assert counts.unhealthy == {reason: 1}
        assert counts.tell(ending).unhealthy == {}


def test_a_breaker_counts_when_it_opens_and_again_when_it_had_closed() -> None:
    flapping, between = (Reason.FLAPPING, HELD), (Reason.DEBOUNCING, HELD)
    counts = told(ROLL, flapping, between, flapping, (Reason.FAILING, DONE), flapping)
    assert counts.trips.value() == 1
    assert counts.tell(ROLL, flapping).trips.value() == 2
    assert counts.tell(flapping, key=API).trips.value() == 3


def test_workloads_are_held_by_the_reason_of_their_last_look() -> None:
    counts = told((Reason.HELD, HELD), (Reason.STOPPED, HELD)).tell((Reason.STOPPED, HELD), key=API)
    assert counts.standings.held() == {Reason.STOPPED: 2}
    counts.tell((Reason.COMPLETE, NOTHING))
    assert counts.standings.held() == {Reason.STOPPED: 2}, "an earlier rollout is complete"
    for ending in (ROLL, WELL, (Reason.FAILING, DONE), (Reason.REJECTED, FAILED)):
        assert counts.tell((Reason.STOPPED, HELD)).standings.held() == {Reason.STOPPED: 2}
        assert counts.tell(ending).standings.held() == {Reason.STOPPED: 1}


def test_what_is_gone_is_neither_held_nor_unhealthy() -> None:
    counts = told((Reason.FAILING, DONE), (Reason.FLAPPING, HELD))
    counts.standings.forget(WEB)
    assert (counts.standings.held(), counts.unhealthy) == ({}, {})
    assert counts.tell((Reason.FLAPPING, HELD)).trips.value() == 2


def test_an_injection_is_no_workload() -> None:
    key = Key("Injection", "shop", "password")
    counts = Counts().tell((Reason.SOURCE_MISSING, HELD), (Reason.FAILING, DONE), key=key)
    assert (counts.standings.held(), counts.unhealthy, counts.outcomes) == ({}, {}, {})


def test_every_outcome_is_there_before_it_happens() -> None:
    counts = Counts()
    assert len(list(counts.rollouts.lines())) == len(ROLLOUTS)
    assert len(list(counts.rollbacks.lines())) == len(ROLLBACKS)
    assert list(counts.trips.lines()) == ["trips 0.0"]
