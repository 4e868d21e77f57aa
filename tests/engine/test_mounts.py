"""What pods report to have mounted, over watches that break and lists that begin again."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.mounts import CLASS, Mounts

from reroll.core.model.metadata import Metadata
from reroll.engine.content import MountedObject, MountReport, MountStatus
from reroll.engine.mounts import Mounted


def test_a_list_forgets_the_reports_of_pods_that_are_gone() -> None:
    """As a controller that starts now, which never knew of them."""
    mounts = Mounts()
    mounts.watched(mounts.report("one", a="1"), mounts.report("two", a="1", b="1"))

    mounts.listed(mounts.report("one", a="1"))
    mounts.watched(mounts.report("one", a="2"))

    fresh = Mounts()
    fresh.listed(fresh.report("one", a="2"))
    assert mounts.digests() == fresh.digests()


def test_a_class_of_which_a_list_brings_no_report_is_gone() -> None:
    mounts = Mounts()
    mounts.watched(mounts.report("one", a="1"))
    assert mounts.digests()

    mounts.listed()

    assert not mounts.digests()
    mounts.feed.tell_again(CLASS)
    assert not mounts.digests()


# Very many reports


def report(pod: str, version: int, **objects: str) -> MountReport:
    metadata = Metadata(pod, resource_version=str(version))
    status = MountStatus("vault", [MountedObject(*one) for one in objects.items()])
    return MountReport(metadata, status)


PODS = st.sampled_from("pqr")
OBJECTS = st.dictionaries(st.sampled_from("ab"), st.sampled_from("12"), max_size=2)
STEPS = st.lists(st.tuples(PODS, st.none() | st.tuples(st.integers(1, 9), OBJECTS)), max_size=200)


@given(STEPS)
def test_the_newest_report_of_each_object_counts(
    steps: list[tuple[str, tuple[int, dict[str, str]] | None]],
) -> None:
    mounted, there = Mounted(), dict[str, tuple[int, dict[str, str]]]()
    for pod, step in steps:
        there.pop(pod, None)
        if step is None:
            mounted.discard(pod)
        else:
            there[pod] = step
            mounted.add(report(pod, step[0], **step[1]))
        expected: dict[str, str] = {}
        for _, objects in sorted(there.values(), key=lambda one: one[0]):
            expected |= objects
        assert mounted.versions() == expected
        assert mounted.version == max((version for version, _ in there.values()), default=0)


def test_a_report_that_comes_anew_for_ever_takes_no_more_memory() -> None:
    mounted = Mounted()
    for version in range(5_000):
        mounted.add(report("p", version, a="1"))
        mounted.add(report("q", 9_999, a="2"))
    assert mounted.versions() == {"a": "2"}
    assert sum(map(len, mounted._entries.values())) < 100


def listed(mounts: Mounts, pods: int) -> None:
    mounts.listed(*(mounts.report(f"p{n}", a="1") for n in range(pods)))


def rotated(mounts: Mounts, pods: int) -> None:
    mounts.watched(*(mounts.report(f"p{n}", a="2") for n in range(pods)))


def replaced(mounts: Mounts, pods: int) -> None:
    for n in range(pods):
        mounts.feed._deleted(mounts.report(f"p{n}", a="1"))
        mounts.watched(mounts.report(f"new-{n}", a="1"))


@pytest.mark.parametrize("happens", [listed, rotated, replaced])
def test_a_class_of_very_many_pods_costs_as_much_as_its_reports(
    happens: Callable[[Mounts, int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is looked at of other reports, for each that comes: not all of them."""
    looked = 0
    usual = Mounted._counts

    def counted(self: Mounted, entry: tuple[int, int, str, str]) -> bool:
        nonlocal looked
        looked += 1
        return usual(self, entry)

    mounts, pods = Mounts(), 2_000
    if happens is not listed:
        listed(mounts, pods)
    monkeypatch.setattr(Mounted, "_counts", counted)

    happens(mounts, pods)

    assert pods <= looked < 10 * pods
