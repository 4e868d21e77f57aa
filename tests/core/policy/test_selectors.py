"""Label selectors mean what they mean to Kubernetes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reroll.core.policy.selectors import Selector, parse_selector

LABELS = {"team": "shop", "tier": "web", "empty": ""}
HOLDS = {
    "": True,
    "team=shop": True,
    "team==shop": True,
    "team = shop": True,
    "team=other": False,
    "team!=other": True,
    "team!=shop": False,
    "absent!=x": True,
    "absent=x": False,
    "team": True,
    "absent": False,
    "!absent": True,
    "! team": False,
    "empty": True,
    "empty=": True,
    "team in (shop, other)": True,
    "team in (other)": False,
    "team notin (other)": True,
    "team notin (shop,other)": False,
    "absent notin (x)": True,
    "absent in (x)": False,
    "team=shop,tier=web": True,
    "team=shop, tier in (a, web), !absent": True,
    "team=shop,tier=db": False,
    ",team=shop,": True,
}
BAD = ["a b", "a=b=c", "=x", "a in", "a in (b", "a in b", "!", "a in (b) c", "(a)", "a!b", "!a=b"]


@pytest.mark.parametrize(("text", "holds"), HOLDS.items())
def test_what_a_selector_selects(text: str, holds: bool) -> None:
    selector = parse_selector(text)

    assert selector is not None
    assert selector.matches(LABELS) is holds


@pytest.mark.parametrize("text", BAD)
def test_what_is_no_selector_is_none(text: str) -> None:
    assert parse_selector(text) is None


@given(st.text() | st.text("ab=!(), in"))
def test_arbitrary_text_never_raises(text: str) -> None:
    assert isinstance(parse_selector(text), Selector | None)
