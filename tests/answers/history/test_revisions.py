"""Which revision is meant, and what each changed."""

from datetime import UTC, datetime, timedelta

from reroll.answers.history.revisions import RevisionTemplate, revision_lines, select_revision

OLD, BAD = {("ConfigMap", "app"): "app-old"}, {("ConfigMap", "app"): "app-bad"}


def revision(number: int, copy: str) -> RevisionTemplate:
    return RevisionTemplate(f"web-{number}", number, None, {("ConfigMap", "app"): copy})


def test_a_revision_is_named_by_its_number_or_its_name() -> None:
    found = [revision(1, "app-old"), revision(2, "app-bad")]

    assert select_revision(found, "1", {}) is select_revision(found, "web-1", {}) is found[0]
    assert select_revision(found, "7", {}) is None
    assert select_revision(found, "previous", {}) is found[0]
    assert select_revision(found[:1], "previous", {}) is None


def test_the_previous_one_is_never_what_it_was_taken_back_from() -> None:
    """Kubernetes counts what it goes back to as the newest, and what failed as the one before."""
    found = [revision(7, "app-older"), revision(8, "app-bad"), revision(9, "app-old")]

    assert select_revision(found, "previous", BAD) is found[0]
    assert select_revision(found[1:], "previous", BAD) is None
    assert select_revision(found, "8", BAD) is found[1], "who names it means it"


CONTENTS = {
    ("ConfigMap", "app-a"): {"MODE": b"1", "LOG": b"1"},
    ("ConfigMap", "app-b"): {"MODE": b"2", "LOG": b"1"},
    ("ConfigMap", "app-c"): {"MODE": b"2", "LOG": b"2"},
}


def test_what_a_revision_changed_stays_so_when_somebody_goes_back_to_it() -> None:
    """Kubernetes gives it the highest number then: the same ReplicaSet, and not another change."""
    begun = datetime(2026, 11, 17, tzinfo=UTC)

    def made(minutes: int, number: int) -> RevisionTemplate:
        copy = f"app-{'abc'[minutes]}"
        created = begun + timedelta(minutes=minutes)
        return RevisionTemplate(f"web-{copy}", number, created, {("ConfigMap", "app"): copy})

    def changed(*revisions: RevisionTemplate) -> dict[str, tuple[str, ...] | None]:
        lines = revision_lines(revisions, (), CONTENTS, "web")
        assert [line.revision for line in lines] == [*reversed(revisions)]
        assert [line.is_current for line in lines] == [True, *[False] * (len(lines) - 1)]
        return {line.revision.name: line.pins[0].keys for line in lines}

    expected = {"web-app-a": None, "web-app-b": ("MODE",), "web-app-c": ("LOG",)}
    assert changed(made(0, 1), made(1, 2), made(2, 3)) == expected
    assert changed(made(0, 1), made(2, 3), made(1, 4)) == expected, "back at the second"
    assert changed(made(1, 2), made(2, 3), made(0, 4)) == expected, "back at the first"

    one, two, three = (one._replace(created=begun) for one in (made(0, 4), made(1, 2), made(2, 3)))
    once = changed(two, three, one._replace(first=1))
    assert once == expected, "all within a second, back at the first"
