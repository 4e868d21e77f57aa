"""What is said of gates and of who names them."""

from reroll.answers.doctor.findings import Level
from reroll.answers.doctor.gates import judge_gates
from reroll.answers.doctor.scrape import Sample, Scrape, judge
from reroll.core.model.gates import Analysis, Gate, Server, Webhook
from reroll.core.model.key import Key
from reroll.core.model.pace import Pace
from reroll.core.policy.policy import Policy

ROWS = [Gate(name, Webhook(Server("http://x"))) for name in ("calm", "errors")]


def behind(*gates: str) -> tuple[Key, Policy]:
    return Key("Deployment", "shop", "web"), Policy(pace=Pace(gates=gates))


def test_a_gate_that_is_not_there_is_a_problem_and_one_that_nobody_names_a_note() -> None:
    missing, unused = judge_gates(ROWS, [behind("calm", "clam")])
    assert (missing.level, unused.level) == (Level.PROBLEM, Level.NOTE)
    assert "no gate clam, so nothing rolls that names it: Deployment shop/web" in missing.sentence
    assert unused.sentence == "nobody names these gates: errors"


def test_all_is_well_with_gates_that_are_there_and_named() -> None:
    [fine] = judge_gates(ROWS, [behind("calm"), behind("errors")])
    assert (fine.level, fine.sentence[-12:]) == (Level.OK, "calm, errors")
    assert list(judge_gates([], [behind()])) == []


def test_a_gate_that_needs_argo_rollouts_is_a_problem_where_there_is_none() -> None:
    rows = [*ROWS, Gate("success", Analysis("success-rate"))]
    missing, *_ = judge_gates(rows, [behind("success")], has_analysis=False)
    assert missing.level is Level.PROBLEM
    assert missing.sentence == "AnalysisRuns are not served, so nothing rolls that names success"
    assert Level.PROBLEM not in {one.level for one in judge_gates(rows, [behind("success")])}
    assert Level.PROBLEM not in {one.level for one in judge_gates(ROWS, [], has_analysis=False)}


def test_a_gate_without_a_usable_answer_is_a_warning() -> None:
    samples = (
        Sample("reroll_gates", {"gate": "calm", "answer": "unknown"}, 2),
        Sample("reroll_gates", {"gate": "errors", "answer": "closed"}, 1),
    )
    told = [one.sentence for one in judge([Scrape("reroll-0", samples)]) if "gate" in one.sentence]
    assert told == [
        "reroll-0 gets no usable answer from the gate calm, and what waits for it waits"
    ]
