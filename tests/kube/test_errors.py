import msgspec
import pytest

from reroll.kube import errors
from reroll.kube.errors import Retry


def answer(code, body=None, *, retry_after=None):
    raw = msgspec.json.encode(body) if isinstance(body, dict) else (body or b"")
    return errors.from_answer(code, raw, method="GET", path="/api/v1/pods", retry_after=retry_after)


@pytest.mark.parametrize(
    ("code", "reason", "kind", "retry"),
    [
        (400, "BadRequest", errors.Rejected, Retry.NEVER),
        (401, "Unauthorized", errors.Unauthorized, Retry.SLOWLY),
        (403, "Forbidden", errors.Forbidden, Retry.SLOWLY),
        (404, "NotFound", errors.NotFound, Retry.NEVER),
        (406, "NotAcceptable", errors.Rejected, Retry.NEVER),
        (408, "", errors.Unavailable, Retry.LATER),
        (409, "AlreadyExists", errors.AlreadyExists, Retry.NOW),
        (409, "Conflict", errors.Conflict, Retry.NOW),
        (410, "Expired", errors.Gone, Retry.NOW),
        (422, "Invalid", errors.Invalid, Retry.NEVER),
        (429, "TooManyRequests", errors.Throttled, Retry.LATER),
        (500, "InternalError", errors.Unavailable, Retry.LATER),
        (503, "ServiceUnavailable", errors.Unavailable, Retry.LATER),
        (504, "Timeout", errors.Unavailable, Retry.LATER),
        (302, "", errors.Rejected, Retry.NEVER),
    ],
)
def test_a_status_becomes_the_class_that_says_whether_a_retry_helps(code, reason, kind, retry):
    error = answer(code, {"reason": reason, "message": "so it is"})

    assert (type(error), error.retry, error.status, error.reason) == (kind, retry, code, reason)


def test_an_error_says_what_where_and_how_it_was_answered():
    error = answer(404, {"reason": "NotFound", "message": 'pods "web" not found'})

    assert str(error) == 'GET /api/v1/pods: pods "web" not found (404 NotFound)'


def test_a_body_that_is_no_status_never_shows_up_in_the_error():
    error = answer(500, b"data: cGFzc3dvcmQ=")

    assert "cGFz" not in str(error) + repr(error)
    assert isinstance(error, errors.Unavailable)


def test_an_object_in_place_of_a_status_never_shows_up_in_the_error():
    error = answer(422, {"kind": "Secret", "data": {"password": "aHVudGVyMg=="}})

    assert "aHVudGVyMg" not in str(error) + repr(error) + repr(vars(error))


def test_a_long_message_is_cut():
    error = answer(500, {"message": "x" * 10_000})

    assert len(error.message) == errors.LONGEST_MESSAGE


@pytest.mark.parametrize(
    ("header", "details", "expected"),
    [
        ("7", None, 7.0),
        (None, {"retryAfterSeconds": 3}, 3.0),
        ("7", {"retryAfterSeconds": 3}, 7.0),
        ("Wed, 21 Oct 2015 07:28:00 GMT", None, None),
        (None, None, None),
        ("86400", None, errors.LONGEST_RETRY_AFTER),
    ],
    ids=[
        "the header counts",
        "the status counts where there is no header",
        "the header goes first",
        "a date is not understood and not a crash",
        "nothing said is nothing known",
        "a day is cut to something sensible",
    ],
)
def test_how_long_to_wait(header, details, expected):
    error = answer(429, {"message": "slow down", "details": details}, retry_after=header)

    assert error.retry_after == expected


def test_the_causes_tell_a_disruption_budget_from_an_overloaded_server():
    body = {"message": "Cannot evict pod", "details": {"causes": [{"reason": "DisruptionBudget"}]}}

    assert answer(429, body).causes == ("DisruptionBudget",)
