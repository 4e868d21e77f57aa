"""A record that another writer keeps removing is put back, more and more rarely."""

from datetime import datetime, timedelta

from tests.core.build import DEPLOYMENT, NOW, configmap, content, document, reference, snapshot
from tests.core.build import workload as built

from reroll.core.decide.chains import decide
from reroll.core.decide.plan import Plan
from reroll.core.model.digest import reference_digest
from reroll.core.model.record import Record, write
from reroll.core.policy.policy import Policy
from reroll.core.tables.annotations import STATE
from reroll.core.tables.reasons import Reason
from reroll.engine.tracked import RAREST, Tracked

APP, HELD = reference(configmap("app")), content({"key": "a"})
RECORD = Record(5, NOW, "Adopted", {"configmap/app": reference_digest(APP, HELD, "") or ""})
STEP = timedelta(milliseconds=1)


class Fight:
    """Another writer that removes the record at once, whenever it is put back."""

    def __init__(self) -> None:
        self.now, self.version = NOW, 100
        annotations = {"reroll.dev/enabled": "true", STATE: write(RECORD)}
        self.tracked = Tracked(
            built(DEPLOYMENT, document(DEPLOYMENT, annotations=annotations)), Policy()
        )
        self.restored = 0

    def write(self, record: Record | None) -> None:
        self.version += 1
        before = self.tracked.workload
        annotations = {"reroll.dev/enabled": "true"}
        if record is not None:
            annotations[STATE] = write(record)
        manifest = document(DEPLOYMENT, version=self.version, annotations=annotations)
        self.tracked.workload = built(DEPLOYMENT, manifest, before)
        self.tracked.record_changed(before, self.now, watched=True)

    def look(self) -> Plan:
        seen = snapshot(
            {APP: HELD},
            changes={"last": self.tracked.workload.last, "record": None, "record_text": None},
            restores_at=self.tracked.restores_at,
        )
        return decide(seen, self.now)

    def go_on(self, until: datetime) -> None:
        while self.now < until:
            plan = self.look()
            if plan.reason is Reason.RECORD_RESTORED:
                self.restored += 1
                self.write(RECORD)
                self.write(None)
            else:
                assert plan.reason is Reason.RECORD_REMOVED
                assert plan.look_at is not None
                self.now = max(self.now, plan.look_at)
            self.now += STEP


def test_the_first_time_it_is_put_back_at_once() -> None:
    fight = Fight()
    fight.write(None)

    assert fight.look().reason is Reason.RECORD_RESTORED


def test_a_writer_who_never_stops_is_met_ever_more_rarely() -> None:
    fight = Fight()
    fight.write(None)
    fight.go_on(NOW + timedelta(hours=1))
    assert fight.restored < 20

    before = fight.restored
    fight.go_on(fight.now + timedelta(hours=10))
    assert fight.restored - before <= 10 * timedelta(hours=1) / RAREST + 1


def test_after_a_long_peace_it_is_put_back_at_once_again() -> None:
    fight = Fight()
    for _ in range(10):
        fight.write(None)
        fight.write(RECORD)
    fight.now += 3 * RAREST
    fight.write(None)

    assert fight.tracked.removals == 1
    assert fight.look().reason is Reason.RECORD_RESTORED


def test_a_record_stays_in_doubt_until_it_changes_however_often_the_object_is_seen() -> None:
    fight = Fight()
    tracked = fight.tracked
    tracked.doubt = Record(5, NOW, "Adopted", {"configmap/app": "?"})
    annotations = {"reroll.dev/enabled": "true", STATE: write(RECORD)}
    again = document(DEPLOYMENT, version=fight.version, annotations=annotations)
    tracked.workload = built(DEPLOYMENT, again, tracked.workload)

    assert tracked.for_decisions.record == tracked.doubt
    assert tracked.for_decisions.record_text == write(RECORD)

    fight.write(Record(6, NOW, "ConfigChanged", RECORD.s))
    assert tracked.for_decisions is tracked.workload
