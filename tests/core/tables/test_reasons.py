"""Reasons: each is one word for machines, one sentence for people, and its columns."""

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


@each_reason
def test_the_columns_of_a_row_do_not_contradict_each_other(reason: Reason) -> None:
    if reason.deliberate:
        assert reason.held
    if reason.out:
        assert reason.quiet
    if reason.quiet:
        assert not reason.event
        assert not reason.held
    if reason.polled or reason.lasting:
        assert reason.severity == "Warning"


def test_a_condition_of_an_injection_is_one_of_four() -> None:
    conditions = {reason.condition for reason in Reason} - {""}
    assert conditions == {"Ready", "Conflict", "SourceMissing", "Forbidden"}
    assert [reason for reason in Reason if reason.condition == "Ready"] == [Reason.INJECTED]
