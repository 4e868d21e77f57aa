"""The reference of notices says what the tables say."""

from tests.support.notice_reference import PAGE, UPDATE, reference


def test_the_page_about_notices_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference(), f"run `{UPDATE}`"
