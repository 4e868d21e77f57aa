"""What doctor says of notices that do not get through, by what the controller counts."""

from reroll.answers.doctor.scrape import judge, parse
from reroll.controller.metrics import Metrics
from reroll.features.notices.courier import DROPPED, FAILED, SENT


def told(**counts: int) -> list[tuple[str, str, str]]:
    metrics = Metrics()
    for result in (SENT, FAILED, DROPPED):
        metrics.notices.inc("team", result, by=counts.get(result, 0))
    found = judge([parse("reroll-0", metrics.registry.render().decode())])
    return [(one.level.value, one.sentence, one.todo) for one in found if "notice" in one.sentence]


def test_messages_that_were_given_up_are_a_warning_with_what_to_do() -> None:
    assert told(sent=5, failed=30, dropped=2) == [
        (
            "warning",
            "reroll-0 gave up 2 messages of the notice team, which did not get through for an hour",
            "see its log for why, then `reroll notice test team`",
        )
    ]


def test_what_is_still_tried_and_what_got_through_is_not_worth_a_word() -> None:
    assert told(sent=5, failed=30) == []
