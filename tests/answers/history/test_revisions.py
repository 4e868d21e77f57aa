"""Which revision is meant."""

from reroll.answers.history.revisions import RevisionTemplate, select_revision

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
