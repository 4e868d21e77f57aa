"""Reasons: each is one word for machines and one sentence for people."""

import re

import pytest

from reroll.core.tables.reasons import Reason

each_reason = pytest.mark.parametrize("reason", Reason, ids=lambda reason: reason.word)


@each_reason
def test_a_reason_is_a_word_that_an_event_may_carry(reason: Reason) -> None:
    assert re.fullmatch(r"[A-Z][a-z]+([A-Z][a-z]+)*", reason.word)
    assert str(reason) == reason.word


@each_reason
def test_a_sentence_begins_small_and_ends_without_a_full_stop(reason: Reason) -> None:
    assert reason.sentence[0].islower()
    assert not reason.sentence.endswith(".")


def test_no_two_reasons_share_a_word_or_a_sentence() -> None:
    assert len({reason.word for reason in Reason}) == len(Reason)
    assert len({reason.sentence for reason in Reason}) == len(Reason)
