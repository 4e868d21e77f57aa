"""Gathering: one incident for each change and kind of news, bounded, with an end."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st
from tests.features.notices.telling import APP, NOW, about, web

from reroll.core.dialects import notice_rows
from reroll.core.model.key import Key
from reroll.core.tables.news import News
from reroll.features.notices.incidents import (
    MOST,
    MOST_INFORMATION,
    NAMED,
    Delivery,
    Incidents,
    topic,
)
from reroll.features.notices.state import read, written


def test_two_hundred_workloads_of_one_change_are_one_incident() -> None:
    incidents = Incidents()
    for number in range(200):
        incidents.problem(web(number), about(), f"text {number}", NOW)

    [incident] = incidents.open.values()
    assert len(incident.members) == incident.count == 200
    assert len([said for said in incident.members.values() if said]) == NAMED


def test_the_text_is_no_part_of_the_key_and_content_and_kind_are() -> None:
    incidents = Incidents()
    incidents.problem(web(1), about(), "after 3s", NOW)
    assert incidents.problem(web(1), about(), "after 4s", NOW) == set()
    incidents.problem(web(2), about(change="c2"), "", NOW)
    incidents.problem(web(3), about(News.FAILED), "", NOW)
    assert len(incidents.open) == 3


def test_what_others_wrote_is_one_line() -> None:
    incidents = Incidents()
    said = "denied:\r\n\tHealthy again: all\0 is \u202ewell " + "x" * 300
    incidents.problem(web(1), about(), said, NOW)
    [incident] = incidents.open.values()
    [line] = incident.members.values()
    assert line.startswith("denied: Healthy again: all is well x")
    assert line.isprintable()
    assert len(line) == 200


def test_a_report_without_a_source_is_gathered_by_namespace() -> None:
    both = {topic(News.FORBIDDEN, (), "", web(number)).id for number in (1, 2)}
    other = topic(News.FORBIDDEN, (), "", web(1, "billing")).id
    assert len(both) == 1
    assert other not in both


def test_an_incident_is_over_when_its_last_workload_left_it() -> None:
    incidents = Incidents()
    for number in (1, 2):
        incidents.problem(web(number), about(), "", NOW)
    incidents.leave(web(1))
    assert list(incidents.over()) == []
    incidents.leave(web(2))
    assert list(incidents.over()) == [about().id]
    assert incidents.open[about().id].moved_to is None
    assert incidents.open[about().id].count == 2


def test_one_that_moves_to_another_problem_says_so() -> None:
    incidents = Incidents()
    incidents.problem(web(1), about(News.FAILED), "", NOW)
    touched = incidents.problem(web(1), about(News.ROLLED_BACK), "", NOW)
    assert touched == {about(News.FAILED).id, about(News.ROLLED_BACK).id}
    assert incidents.open[about(News.FAILED).id].moved_to is News.ROLLED_BACK


def test_more_changes_than_are_told_one_by_one_share_an_incident() -> None:
    incidents = Incidents(most=3)
    for number in range(10):
        incidents.problem(web(number), about(change=f"c{number}"), "", NOW)
    assert len(incidents.open) == 4
    assert sum(len(one.members) for one in incidents.open.values()) == 10


def test_of_information_the_newest_changes_are_remembered_and_few_names() -> None:
    incidents = Incidents()
    for number in range(3 * MOST_INFORMATION):
        when = NOW + timedelta(seconds=number)
        incidents.done(web(1), about(News.ROLLED, f"c{number}"), "", when)
    assert len(incidents.open) == MOST_INFORMATION
    assert about(News.ROLLED, f"c{3 * MOST_INFORMATION - 1}").id in incidents.open

    for number in range(500):
        incidents.done(web(number), about(News.ROLLED, "last"), "", NOW + timedelta(hours=1))
    last = incidents.open[about(News.ROLLED, "last").id]
    assert (last.count, len(last.members)) == (500, NAMED)
    assert list(incidents.over()) == []


WORKLOADS = st.integers(0, 5).map(web)
TOPICS = st.builds(about, st.sampled_from([News.STOPPED, News.FAILED]), st.sampled_from("abcdefg"))


@given(st.lists(st.tuples(WORKLOADS, st.none() | TOPICS), max_size=60))
def test_a_workload_is_in_the_incident_of_its_last_problem_alone(
    steps: list[tuple[Key, object]],
) -> None:
    incidents, last = Incidents(most=4), {}
    for key, found in steps:
        last[key] = found
        if found is None:
            incidents.leave(key)
        else:
            incidents.problem(key, found, "", NOW)  # type: ignore[arg-type]
    members = [key for one in incidents.open.values() for key in one.members]
    assert sorted(members) == sorted(key for key, found in last.items() if found is not None)


# What outlives the process


def test_what_was_told_is_recalled_and_told_no_more() -> None:
    before = Incidents()
    before.problem(web(1), about(), "", NOW)
    before.open[about().id].delivery = Delivery(
        "stopped", about().about, NOW, "c1", sent=True, count=7
    )

    after = Incidents()
    later = NOW + timedelta(hours=1)
    after.problem(web(1), about(), "", later)
    after.recall(read(written(before.entries())))

    [incident] = after.open.values()
    assert incident.delivery is not None
    assert incident.delivery.sent
    assert incident.since == NOW
    assert (incident.count, list(incident.members)) == (7, [web(1)])


def test_what_is_kept_of_all_notices_fits_into_one_object() -> None:
    entry = Delivery(
        *("rolled-back", "x" * 200, NOW, "c" * 16),
        sent=True, ref="C" * 30 + " " + "1" * 30, count=99_999, dropped=True,
    )  # fmt: skip
    each = MOST + len(News) + MOST_INFORMATION
    assert len(written([entry] * each)) * notice_rows.MOST < 1024 * 1024


def test_a_state_that_somebody_spoilt_says_that_nothing_was_told() -> None:
    entry = Delivery("stopped", "a", NOW)
    assert read("{") == read('"x"') == read("[1]") == []
    assert read(written([entry])) == [entry]
    assert read(written([Delivery("gossip", "a", NOW)])) == []


def test_sources_are_named_and_cut_where_there_are_many() -> None:
    many = [Key("Secret", "shop", f"s{number:03}") for number in range(100)]
    found = topic(News.HELD, many, "c", web(1))
    assert len(found.about) <= 200
    assert topic(News.HELD, [APP], "c", web(1)).about == "configmap shop/app"
