"""Who waits for a gate, what its answers do to those, and what is forgotten."""

from datetime import timedelta

import pytest
from tests.core.build import DEPLOYMENT
from tests.engine.spreading import Cluster

from reroll.core.decide.plan import without_action
from reroll.core.model.gates import Alerts, Answer, Gate, Matcher, Measured, Phase, Server, Webhook
from reroll.core.model.key import Key
from reroll.core.tables.reasons import Reason
from reroll.engine.gates import ELSEWHERE, GateBoard, GateId

SERVER = Server("http://x")
ALERTS = Alerts(SERVER, (Matcher("a", "=", "b"),))
CALM = Gate("calm", ALERTS, failures=2)
OURS = Gate("ours", ALERTS, per_namespace=True)
BOARD = Gate("board", Webhook(SERVER), per_workload=True)
OPEN, CLOSED = Measured(Answer.OPEN, "no alert fires"), Measured(Answer.CLOSED, "Down fires", True)
UNKNOWN = Measured(Answer.UNKNOWN, "it answered 401")
WEB = Key("Deployment", "shop", "web")
OTHER = Key("Deployment", "shop", "other")


class Gated(Cluster):
    """Deployments behind gates; questions are written down, and answered by the test."""

    def __init__(self, *names: str, gates: str = "calm", **annotations: str) -> None:
        super().__init__(gates=(CALM, OURS, BOARD))
        self.asked: list[GateId] = []
        self.board.on_wait(self.asked.append)
        for name in names or ("web",):
            self.deployment(name, gates=gates, **annotations)
        self.configmap("first", version=50)
        self.run()
        self.configmap("second")
        self.run()

    @property
    def board(self) -> GateBoard:
        return self.world.propagation.gates

    def tell(self, found: Measured, one: GateId | None = None, seconds: float = 30) -> None:
        self.clock.time += timedelta(seconds=seconds)
        self.board.answered(one or self.asked[-1], found, self.clock.now())
        self.run()


def test_a_roll_waits_until_its_gate_has_been_asked_and_is_open() -> None:
    one = Gated()
    assert (one.rolled, one.reasons[WEB]) == ([], Reason.GATE_ASKED)
    assert one.asked == [GateId("calm")]

    one.tell(OPEN)

    assert one.rolled == [WEB]
    assert not one.board.is_awaited(GateId("calm"))


@pytest.mark.parametrize(
    ("found", "reason", "text"),
    [
        (CLOSED, Reason.GATE_CLOSED, "calm: Down fires, 2 of 2 in a row"),
        (UNKNOWN, Reason.GATE_UNKNOWN, "calm: it answered 401"),
    ],
)
def test_a_gate_that_does_not_open_delays_and_loses_nothing(
    found: Measured, reason: Reason, text: str
) -> None:
    one = Gated()
    for _ in range(3):
        one.tell(found)
    assert (one.rolled, one.reasons[WEB]) == ([], reason)
    assert one.messages[WEB] == f"{reason.sentence}: {text}"
    one.tell(OPEN)
    assert one.rolled == [WEB]


def test_the_same_answer_again_wakes_nobody() -> None:
    one = Gated()
    one.tell(UNKNOWN)
    looks = one.looks[WEB]
    one.tell(UNKNOWN)
    assert one.looks[WEB] == looks


def test_who_waits_for_one_question_shares_it() -> None:
    one = Gated("web", "other")
    assert one.asked == [GateId("calm")]
    one.tell(OPEN)
    assert sorted(one.rolled) == [OTHER, WEB]


def test_a_gate_of_a_namespace_is_asked_for_each_and_a_webhook_for_each_workload() -> None:
    assert Gated("web", "other", gates="ours").asked == [GateId("ours", "shop")]
    asked = Gated("web", "other", gates="board").asked
    assert sorted(one.workload or WEB for one in asked) == [OTHER, WEB]
    assert {one.phase for one in asked} == {Phase.WAITING}


def test_all_of_several_gates_have_to_be_open() -> None:
    one = Gated(gates="calm, ours")
    assert len(one.asked) == 2
    one.tell(OPEN, one.asked[0])
    assert one.reasons[WEB] is Reason.GATE_ASKED
    one.tell(CLOSED, one.asked[1])
    assert one.reasons[WEB] is Reason.GATE_CLOSED
    one.tell(OPEN, one.asked[1])
    assert one.rolled == [WEB]


def test_a_gate_that_is_not_there_is_told_and_nothing_rolls() -> None:
    one = Gated(gates="clam")
    assert one.reasons[WEB] is Reason.GATE_UNKNOWN
    assert one.messages[WEB].endswith("clam: the config file has no such gate")
    [problem] = one.board.problems(WEB, ["clam", "calm"])
    assert problem.sentence.endswith("no gate 'clam'; gates that it has: board, calm, ours")


def test_a_workload_that_goes_or_wants_no_gate_any_more_is_not_asked_for() -> None:
    one = Gated("web", "other")
    one.gone(WEB)
    one.annotate(OTHER, gates="")
    one.run()
    assert one.rolled == [OTHER]
    assert list(one.board.awaited()) == []
    one.tell(OPEN, GateId("calm"))


def test_nobody_asks_while_somebody_else_has_to_be_waited_for() -> None:
    one = Gated("web", "other", max_parallel="one")
    one.tell(OPEN)
    [first] = one.rolled
    assert list(one.board.awaited()) == []
    one.complete(first)
    one.run()
    assert list(one.board.awaited()) == [GateId("calm")]
    assert one.reasons[first] is Reason.SOAKING


def test_one_that_was_let_through_and_waits_for_its_turn_keeps_what_was_said() -> None:
    one = Gated()
    snapshot = one.world.snapshot(WEB, DEPLOYMENT)
    assert snapshot
    one.board.take_note(snapshot, without_action(Reason.PACED))
    assert one.board.is_awaited(GateId("calm"))
    one.board.take_note(snapshot, without_action(Reason.DEBOUNCING))
    assert not one.board.is_awaited(GateId("calm"))


# While it soaks


def soaking(**annotations: str) -> Gated:
    one = Gated(**annotations)
    one.tell(OPEN)
    one.complete(WEB)
    one.run()
    assert one.reasons[WEB] is Reason.SOAKING
    assert list(one.board.awaited()) == [one.asked[-1]]
    return one


def test_it_is_healthy_when_it_has_soaked_and_its_gate_has_stayed_open() -> None:
    one = soaking(soak="2m")
    one.tell(OPEN)
    assert one.later(60, WEB) == ""
    assert one.later(60, WEB) == "healthy"
    assert list(one.board.awaited()) == []


def test_without_a_soak_time_its_gate_is_asked_once_more() -> None:
    one = soaking()
    assert one.later(1, WEB) == ""
    one.tell(OPEN)
    assert one.later(0, WEB) == "healthy"


def test_what_was_said_before_it_was_complete_does_not_count() -> None:
    one = Gated()
    one.deployment("other", gates="calm, ours")
    one.run()
    one.configmap("third")
    one.run()
    one.tell(CLOSED, GateId("ours", "shop"))
    one.tell(OPEN, GateId("calm"))
    assert one.rolled == [WEB]
    one.clock.time += timedelta(seconds=1)
    one.complete(WEB)
    one.run()
    assert one.board.is_awaited(GateId("calm"))
    assert one.later(3600, WEB) == ""
    one.tell(OPEN, GateId("calm"))
    assert one.later(0, WEB) == "healthy"


def test_a_gate_that_fails_so_often_in_a_row_fails_it() -> None:
    one = soaking(soak="2m")
    one.tell(CLOSED)
    assert one.reasons[WEB] is Reason.GATE_CLOSED
    one.tell(OPEN)
    one.tell(CLOSED)
    assert one.later(0, WEB) == ""
    one.tell(CLOSED)
    assert one.later(0, WEB) == "failed"
    assert one.messages[WEB].endswith("gate calm: Down fires, 2 of 2 in a row")


@pytest.mark.parametrize("found", [UNKNOWN, Measured(Answer.CLOSED, "it answered 403")])
def test_a_gate_that_does_not_tell_or_only_waits_fails_nothing(found: Measured) -> None:
    one = soaking(soak="2m", on_failure="rollback")
    for _ in range(20):
        one.tell(found)
    assert one.later(3600, WEB) == ""
    assert one.reasons[WEB] in {Reason.GATE_UNKNOWN, Reason.GATE_CLOSED}
    assert "calm while it soaks: it answered 40" in one.messages[WEB]
    one.tell(OPEN)
    assert one.later(0, WEB) == "healthy"


def test_one_that_failed_by_a_gate_recovers_after_a_whole_soak_time_with_it_open() -> None:
    one = soaking(soak="2m")
    one.tell(CLOSED)
    one.tell(CLOSED)
    assert one.later(0, WEB) == "failed"
    one.tell(OPEN)
    assert one.later(119, WEB) == "failed"
    assert one.later(1, WEB) == "healthy"


def test_a_repair_gets_through_a_closed_gate() -> None:
    one = soaking(soak="2m")
    one.tell(CLOSED)
    one.tell(CLOSED)
    assert one.later(0, WEB) == "failed"
    one.configmap("repaired")
    one.run()
    assert one.rolled == [WEB, WEB]


def test_the_webhook_is_told_when_it_is_asked() -> None:
    one = soaking(gates="board")
    assert [asked.phase for asked in one.asked] == [Phase.WAITING, Phase.PROGRESSING]
    one.tell(OPEN)
    assert one.later(0, WEB) == "healthy"


# Who asks


def test_when_nobody_asks_any_more_what_was_said_is_forgotten() -> None:
    one = soaking(soak="2m")
    one.tell(CLOSED)
    one.board.reset()
    one.tell(CLOSED)
    assert one.later(0, WEB) == ""
    [reading] = one.board.readings(WEB, ["calm"])
    assert reading.why == "Down fires, 1 of 2 in a row"


def test_a_command_that_looks_asks_nobody_and_says_so() -> None:
    board = GateBoard((CALM,), lambda _: None, at_once=True)
    [reading] = board.readings(WEB, ["calm"])
    assert (reading.answer, reading.why) == (None, ELSEWHERE)
    [misspelt] = board.readings(WEB, ["clam"])
    assert misspelt.answer is Answer.UNKNOWN
    assert GateBoard((), lambda _: None, at_once=True).problems(WEB, ["calm"]) == ()
