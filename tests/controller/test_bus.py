"""The bus: every report goes to every sink, and people hear each thing once."""

import msgspec
from tests.kube.fakes import StillClock

from reroll.controller.bus import Bus, Sink
from reroll.controller.report import Report, Result, change_id, summary
from reroll.core.model.key import Key, Problem
from reroll.core.tables.reasons import Reason

WEB = Key("Deployment", "shop", "web")
MAP, SECRET = Key("ConfigMap", "shop", "app"), Key("Secret", "shop", "db")


class Kept(Sink):
    def __init__(self) -> None:
        self.reports: list[Report] = []
        self.heard: list[str] = []
        self.forgotten: list[Key] = []

    def report(self, report: Report) -> None:
        self.reports.append(report)

    def news(self, report: Report) -> None:
        self.heard.append(report.message)

    def problems(self, report: Report, problems: tuple[Problem, ...]) -> None:
        self.heard += [problem.sentence for problem in problems]

    def forget(self, key: Key) -> None:
        self.forgotten.append(key)


def a_report(reason: Reason, result: Result = Result.HELD, **more: object) -> Report:
    plain = Report(WEB, "1", "apps/v1", reason, reason.sentence, result)
    return msgspec.structs.replace(plain, **more)


HELD = a_report(Reason.HELD)
DONE = a_report(Reason.ADOPTED, Result.DONE)
NOTHING = a_report(Reason.UP_TO_DATE, Result.NOTHING)


def heard(*reports: Report) -> list[str]:
    sink = Kept()
    bus = Bus(StillClock(), sink)
    for report in reports:
        bus.publish(report)
    assert len(sink.reports) == len(reports)
    return sink.heard


def test_each_report_gets_an_id_of_its_own_and_its_time() -> None:
    sinks, clock = [Kept() for _ in range(2)], StillClock()
    buses = [Bus(clock, sink) for sink in sinks]
    for bus in buses * 3:
        bus.publish(HELD)
    ids = {report.id for sink in sinks for report in sink.reports}
    assert len(ids) == 6
    assert "" not in ids
    assert {report.at for report in sinks[0].reports} == {clock.now()}


def test_all_sinks_get_the_same_report() -> None:
    sinks = [Kept(), Kept()]
    Bus(StillClock(), *sinks).publish(HELD)
    assert sinks[0].reports[0] is sinks[1].reports[0]


def test_without_sinks_it_is_silent() -> None:
    bus = Bus(StillClock())
    bus.publish(HELD)
    bus.forget(WEB)


def test_a_sink_may_ignore_everything() -> None:
    bus = Bus(StillClock(), Sink())
    bus.publish(a_report(Reason.HELD, problems=(Problem("bad"),)))
    bus.forget(WEB)


def test_what_is_held_is_news_once() -> None:
    assert heard(HELD, HELD, HELD) == [Reason.HELD.sentence]


def test_another_reason_or_another_message_is_news() -> None:
    other = a_report(Reason.HELD, message="for another reason")
    assert heard(HELD, other, a_report(Reason.PAUSED)) == [
        Reason.HELD.sentence, "for another reason", Reason.PAUSED.sentence
    ]  # fmt: skip


def test_after_all_was_well_or_something_was_done_it_is_news_again() -> None:
    assert heard(HELD, NOTHING, HELD) == [Reason.HELD.sentence] * 2
    assert heard(HELD, DONE, HELD).count(Reason.HELD.sentence) == 2


def test_the_end_of_a_rollout_makes_no_news_of_what_holds_still() -> None:
    complete = a_report(Reason.COMPLETE, Result.NOTHING)
    assert heard(HELD, complete, HELD) == [Reason.HELD.sentence]


def test_what_was_done_is_always_news() -> None:
    assert heard(DONE, DONE) == [Reason.ADOPTED.sentence] * 2


def test_what_was_done_is_no_news_when_the_next_look_finds_it() -> None:
    """A verdict is written, and from then on every look says what it was."""
    done = a_report(Reason.FAILING, Result.DONE, message="web-1 crashes")
    found = a_report(Reason.FAILING, Result.NOTHING, message="web-1 crashed")
    another = a_report(Reason.FAILING, Result.NOTHING, message="web-2 crashes too")
    assert heard(done, found, found) == ["web-1 crashes"]
    assert heard(done, found, another) == ["web-1 crashes", "web-2 crashes too"]
    assert heard(done, NOTHING, found) == ["web-1 crashes", "web-1 crashed"]
    assert heard(done, msgspec.structs.replace(found, uid="2"))[1:] == ["web-1 crashed"]
    # Somebody waits for it.
    assert heard(done, msgspec.structs.replace(found, calls=True))[1:] == ["web-1 crashed"]


def test_what_is_no_event_is_no_news_unless_it_rolled() -> None:
    assert heard(a_report(Reason.DEBOUNCING), NOTHING) == []
    rolled = a_report(Reason.CONFIG_CHANGED, Result.FAILED, strategy="patch")
    assert heard(rolled, rolled) == [Reason.CONFIG_CHANGED.sentence] * 2


def test_another_object_by_the_same_name_is_news() -> None:
    again = a_report(Reason.HELD, uid="2")
    assert heard(HELD, again) == [Reason.HELD.sentence] * 2


def test_what_is_forgotten_is_news_again() -> None:
    sink = Kept()
    bus = Bus(StillClock(), sink)
    bus.publish(a_report(Reason.HELD, problems=(Problem("bad"),)))
    bus.forget(WEB)
    bus.publish(a_report(Reason.HELD, problems=(Problem("bad"),)))
    assert sink.heard == ["bad", Reason.HELD.sentence] * 2
    assert sink.forgotten == [WEB]


BAD = a_report(Reason.UP_TO_DATE, Result.NOTHING, problems=(Problem("bad"), Problem("a second")))


def test_a_problem_is_heard_once_until_it_is_gone() -> None:
    assert heard(BAD, BAD) == ["a second", "bad"]
    assert heard(BAD, NOTHING, BAD) == ["a second", "bad"] * 2


class Counting(Kept):
    def problems(self, report: Report, problems: tuple[Problem, ...]) -> None:
        self.heard.append(summary(problems))


def test_problems_of_one_reason_are_told_together_however_many_they_are() -> None:
    """An annotation of 187 KB has 46,656 of them."""
    limit = Problem("too long", Reason.TOO_MANY_PATTERNS)
    problems = tuple(Problem(f"item {number} is no source") for number in range(46_656))
    sink = Counting()
    Bus(StillClock(), sink).publish(
        a_report(Reason.UP_TO_DATE, Result.NOTHING, problems=(*problems, limit))
    )

    told, other = sink.heard
    assert other == "too long"
    assert len(told) < 1000
    shown, _, rest = told.rpartition("; and ")
    assert rest == f"{46_656 - len(shown.split('; '))} more"


def test_a_summary_of_few_problems_has_each_and_a_long_one_is_cut() -> None:
    assert summary([Problem("a"), Problem("b")]) == "a; b"
    assert len(summary([Problem("x" * 5000)])) == 900


def test_a_lasting_problem_is_heard_once_though_a_look_does_not_show_it() -> None:
    rival = msgspec.structs.replace(
        NOTHING, problems=(Problem("a rival", Reason.OTHER_CONTROLLER),)
    )
    assert heard(rival, NOTHING, rival) == ["a rival"]
    another = msgspec.structs.replace(rival, uid="2")
    assert heard(rival, another) == ["a rival"] * 2


def test_a_change_is_the_sources_and_what_they_hold_now() -> None:
    first = change_id([(MAP, "d1")])
    assert first == change_id([(MAP, "d1")])
    assert len({first, change_id([(MAP, "d2")]), change_id([(SECRET, "d1")])}) == 3
    both = change_id([(MAP, "d1"), (SECRET, "d2")])
    assert both == change_id([(SECRET, "d2"), (MAP, "d1")]) != first
    assert change_id([]) == ""
