"""Which requests a fault is for: needs no control plane."""

import pytest
from tests.support.faults import (
    Answer,
    Cut,
    DropResponse,
    Fault,
    Injection,
    Match,
    Request,
    Silence,
    WatchError,
)


@pytest.mark.parametrize(
    ("match", "request_line", "expected"),
    [
        (Match(), "GET /api HTTP/1.1", True),
        (Match(method="PATCH"), "GET /api HTTP/1.1", False),
        (Match(path="/pods$"), "GET /api/v1/pods?watch=1 HTTP/1.1", True),
        (Match(path="/pods$"), "GET /api/v1/pods/a HTTP/1.1", False),
        (Match(watch=True), "GET /api/v1/pods?watch=true&limit=1 HTTP/1.1", True),
        (Match(watch=True), "GET /api/v1/pods?watch=false HTTP/1.1", False),
        (Match(watch=False), "GET /api/v1/pods HTTP/1.1", True),
    ],
)
def test_what_a_match_matches(match: Match, request_line: str, expected: bool) -> None:
    assert match(Request.parse(request_line)) is expected


def test_a_cut_must_say_where() -> None:
    with pytest.raises(ValueError, match="either after_bytes or in_event"):
        Cut()


@pytest.mark.parametrize("fault", [WatchError(), Cut(in_event=1)])
def test_faults_that_count_events_are_for_watches_only(fault: Fault) -> None:
    assert not Injection(fault, Match(), None).take(Request("GET", "/api/v1/pods"))
    assert Injection(fault, Match(), None).take(Request("GET", "/api/v1/pods", "watch=1"))


def test_the_answer_to_a_watch_has_no_end_that_could_be_awaited_and_dropped() -> None:
    assert not Injection(DropResponse(), Match(), None).take(Request("GET", "/pods", "watch=1"))


def test_an_injection_is_used_up_by_what_it_is_for() -> None:
    injection = Injection(Answer(500), Match(method="PUT"), 2)
    taken = [injection.take(Request(method, "/")) for method in ("PUT", "GET", "PUT", "PUT")]
    assert taken == [True, False, True, False]


def test_an_injection_without_a_number_is_never_used_up() -> None:
    injection = Injection(Silence(), Match(), None)
    assert all(injection.take(Request("GET", "/")) for _ in range(100))
