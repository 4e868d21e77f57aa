"""The state machine as a table: what is, what happens, what comes of it."""

import pytest
from msgspec.structs import replace

from reroll.kube import errors, steps
from reroll.kube.steps import DOUBTS, Ended, Failed, Listed, Opened, Pace, Paged, Phase, State, step

PACE = Pace(backoff=1, longest_backoff=30, absent=10, forbidden=20)

STARTING = State()
LISTING = State(health="listing", allowed=True)
PAGING = State(Phase.PAGES, continue_="p2", streams=False, health="listing", allowed=True)
WATCHING = State(Phase.WATCH, version="7", health="watching", allowed=True)
REFUSED = replace(WATCHING, health="forbidden", problem="no more", backoff=20, allowed=False)


def failed(error, *, version="", progress=False):
    return Failed(error, "watch configmaps", version, progress=progress)


def gone():
    return errors.Gone("too old resource version", status=410, reason="Expired")


def cut():
    return errors.Unavailable("the answer was cut short", reason="Connection")


def silent():
    return errors.Unavailable("silent", reason=errors.SILENCE)


def too_large():
    causes = ("ResourceVersionTooLarge",)
    return errors.Unavailable("Too large resource version", status=504, causes=causes)


CANNOT = "cannot watch configmaps: "

TABLE = {
    "an accepted streaming list is listing": (
        STARTING,
        Opened(),
        LISTING,
    ),
    "the end of the initial events makes it a watch from there": (
        LISTING,
        Listed("5"),
        State(Phase.WATCH, version="5", health="watching", allowed=True),
    ),
    "a server that refuses streaming lists is asked for pages at once": (
        STARTING,
        failed(errors.Invalid("sendInitialEvents is forbidden", status=422)),
        State(Phase.PAGES, streams=False),
    ),
    "a server that does not know streaming lists is asked for pages at once": (
        STARTING,
        failed(errors.Rejected("unknown parameter", status=400)),
        State(Phase.PAGES, streams=False),
    ),
    "a page leads to the next": (
        replace(PAGING, continue_=""),
        Paged("p2"),
        PAGING,
    ),
    "the last page makes it a watch from the list's version": (
        PAGING,
        Listed("9"),
        State(Phase.WATCH, version="9", streams=False, health="watching", allowed=True),
    ),
    "a page that did not come is asked for again after a pause": (
        PAGING,
        failed(cut()),
        replace(
            PAGING,
            failures=1,
            backoff=1,
            health="failing",
            problem=CANNOT + "the answer was cut short",
        ),
    ),
    "a page token that is too old starts the list over": (
        PAGING,
        failed(gone()),
        replace(PAGING, continue_="", relists=1),
    ),
    "a stream that the server closes is resumed at once where it was": (
        WATCHING,
        Ended("8", progress=True),
        replace(WATCHING, version="8", failures=1),
    ),
    "a stream closed before anything came resumes from the version before": (
        WATCHING,
        Ended("", progress=True),
        replace(WATCHING, failures=1),
    ),
    "streams that are closed over and over without a word are resumed with pauses": (
        replace(WATCHING, failures=2),
        Ended("", progress=False),
        replace(WATCHING, failures=3, backoff=2),
    ),
    "a stream cut in the middle is resumed at once where it was": (
        replace(WATCHING, failures=5),
        failed(cut(), version="8", progress=True),
        replace(WATCHING, version="8", failures=1),
    ),
    "no answer to a watch in time does not lose the place": (
        WATCHING,
        failed(errors.Unavailable("no answer in time", reason="Timeout")),
        replace(
            WATCHING, failures=1, backoff=1, health="failing", problem=CANNOT + "no answer in time"
        ),
    ),
    "a stream that was silent for too long is resumed, and that is no failure": (
        WATCHING,
        failed(silent()),
        replace(WATCHING, silent=True),
    ),
    "a stream that was silent after it said something is resumed at once": (
        replace(WATCHING, silent=True),
        failed(silent(), version="8", progress=True),
        replace(WATCHING, version="8", failures=1),
    ),
    "two silent streams in a row mean a new list": (
        replace(WATCHING, failures=1, silent=True),
        failed(silent()),
        State(Phase.STREAM, relists=1, health="watching", allowed=True),
    ),
    "a version that is too old means a new list, at once": (
        WATCHING,
        failed(gone()),
        State(Phase.STREAM, relists=1, health="watching", allowed=True),
    ),
    "versions that are too old over and over mean lists with pauses": (
        replace(WATCHING, relists=3),
        failed(gone()),
        State(Phase.STREAM, relists=4, backoff=4, health="watching", allowed=True),
    ),
    "a version that is too old after a long time without a server means a new list, at once": (
        replace(WATCHING, failures=9, health="failing"),
        failed(gone()),
        State(Phase.STREAM, relists=1, health="failing", allowed=True),
    ),
    "a watch that gets somewhere after a new list forgets that one was needed": (
        replace(WATCHING, relists=3),
        Ended("8", progress=True),
        replace(WATCHING, version="8", failures=1),
    ),
    "a new list is by pages where the server has no streaming lists": (
        replace(WATCHING, streams=False),
        failed(gone()),
        State(Phase.PAGES, streams=False, relists=1, health="watching", allowed=True),
    ),
    "a version that the server does not know yet, as after a restored backup, means a new list": (
        WATCHING,
        failed(too_large()),
        State(Phase.STREAM, relists=1, health="watching", allowed=True),
    ),
    "an API that is not there is looked for every now and then": (
        STARTING,
        failed(errors.NotFound("the server could not find the resource", status=404)),
        State(health="absent", backoff=10, allowed=True),
    ),
    "an API that vanishes in the middle of a watch is looked for, and listed when it is back": (
        replace(WATCHING, failures=2),
        failed(errors.NotFound("the server could not find the resource", status=404)),
        State(health="absent", backoff=10, allowed=True),
    ),
    "an API that came is listed": (
        State(health="absent", backoff=10),
        Opened(),
        LISTING,
    ),
    "a missing permission is a problem in a sentence, tried again after a long while": (
        STARTING,
        failed(errors.Forbidden("User cannot watch configmaps", status=403)),
        State(health="forbidden", problem=CANNOT + "User cannot watch configmaps", backoff=20),
    ),
    "a permission taken away is doubted at first, however long the server was away": (
        replace(WATCHING, failures=9),
        failed(errors.Forbidden("no more", status=403), version="8", progress=True),
        replace(
            WATCHING,
            version="8",
            refusals=1,
            health="failing",
            problem=CANNOT + "no more",
            backoff=1,
        ),
    ),
    "a permission taken away is doubted a few times, with growing pauses": (
        replace(WATCHING, refusals=DOUBTS - 1),
        failed(errors.Forbidden("no more", status=403)),
        replace(WATCHING, refusals=DOUBTS, health="failing", problem=CANNOT + "no more", backoff=8),
    ),
    "a permission taken away does not lose the place": (
        replace(WATCHING, refusals=DOUBTS),
        failed(errors.Forbidden("no more", status=403), version="8"),
        replace(REFUSED, problem=CANNOT + "no more"),
    ),
    "a permission that is still missing is not doubted again": (
        REFUSED,
        failed(errors.Forbidden("no more", status=403)),
        replace(REFUSED, problem=CANNOT + "no more"),
    ),
    "a permission that came back is no problem any more": (
        REFUSED,
        Opened(),
        WATCHING,
    ),
    "an overloaded server is given the time it asks for, and some more": (
        WATCHING,
        failed(errors.Throttled("slow down", status=429, retry_after=7)),
        replace(
            WATCHING, failures=1, wait=7, backoff=1, health="failing", problem=CANNOT + "slow down"
        ),
    ),
    "a server error in a watch does not lose the place": (
        replace(WATCHING, failures=2),
        failed(errors.Unavailable("internal error", status=500)),
        replace(
            WATCHING, failures=3, backoff=4, health="failing", problem=CANNOT + "internal error"
        ),
    ),
    "the pause has a limit": (
        replace(WATCHING, failures=100),
        failed(errors.Unavailable("internal error", status=500)),
        replace(
            WATCHING, failures=101, backoff=30, health="failing", problem=CANNOT + "internal error"
        ),
    ),
    "refused credentials are tried again with pauses": (
        STARTING,
        failed(errors.Unauthorized("Unauthorized", status=401)),
        State(failures=1, backoff=1, health="failing", problem=CANNOT + "Unauthorized"),
    ),
    "a streaming list that ends before it was complete begins anew": (
        LISTING,
        Ended("3", progress=True),
        replace(LISTING, failures=1),
    ),
    "streaming lists that always break are done by pages": (
        replace(LISTING, failures=2),
        failed(cut(), version="3", progress=False),
        State(
            Phase.PAGES,
            failures=3,
            backoff=4,
            health="failing",
            problem=CANNOT + "the answer was cut short",
            allowed=True,
        ),
    ),
    "success at listing does not forget the failures of the watch": (
        replace(LISTING, failures=4),
        Listed("5"),
        State(Phase.WATCH, version="5", failures=4, health="watching", allowed=True),
    ),
}


@pytest.mark.parametrize(("before", "happened", "after"), TABLE.values(), ids=TABLE.keys())
def test_step(before, happened, after):
    assert step(before, happened, PACE) == after


def test_pages_can_be_asked_for_from_the_start():
    assert steps.first(streaming=False).phase is Phase.PAGES


def test_a_list_by_pages_because_streams_broke_is_followed_by_streams_again():
    state = State(Phase.PAGES, streams=True)

    watching = step(state, Listed("4"), PACE)
    relisting = step(watching, failed(gone()), PACE)

    assert relisting.phase is Phase.STREAM


def test_pauses_double_up_to_the_limit():
    assert [PACE.after(n) for n in range(8)] == [0, 1, 2, 4, 8, 16, 30, 30]
