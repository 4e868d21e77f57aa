"""What pods report to have mounted, over watches that break and lists that begin again."""

from tests.support.mounts import CLASS, Mounts


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
