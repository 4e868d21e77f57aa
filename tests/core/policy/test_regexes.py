"""Regular expressions over names: what they mean, and that none of them can be slow."""

import re
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reroll.core.policy.regexes import compiled, is_plain
from reroll.core.tables import limits

NAMES = ["app", "app-1", "app-12", "app.config", "my-app", "a", "aaaa", "b", "ab", "1-2-3", "foo"]
EXPRESSIONS = [
    "app", "app.*", "app-[0-9]+", r"app-\d", "app.config", r"app\.config", ".*", "a|b", "(a|b)+",
    "my-(app|web)", "^app.*$", "[^a]+", "a{2,4}", "a{4}", "a{2,}", "(?:a|ab)(?:b)?", "a*?",
    r"[\d-]+", "[]a]+", "", "()", "foo|bar", "a{,2}", "(?P<x>a+)", "x?a", "[a-]+", r"\Aapp\z",
    "(a|)b", "[a-c]b",
]  # fmt: skip


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_a_name_matches_as_a_whole_as_everywhere_else(text: str) -> None:
    same = text.replace(r"\z", r"\Z").replace("a{,2}", r"a\{,2}")

    for name in NAMES:
        assert compiled(text).matches(name) is bool(re.fullmatch(same, name)), name


def test_alternatives_are_taken_together_and_not_only_at_the_edges() -> None:
    assert not compiled("foo|bar").matches("fooxyz")
    assert not compiled("foo|bar").matches("xyzbar")


_ATOMS = st.sampled_from(["a", "b", "1", r"\.", "-", ".", "[ab]", "[^a]", "[0-9]", r"\d", r"\w"])


def _more(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.lists(inner, min_size=1, max_size=3).map(lambda each: f"({'|'.join(each)})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{2,}"])).map(
            lambda pair: f"({pair[0]}){pair[1]}"
        ),
    )


@settings(max_examples=300)
@given(st.recursive(_ATOMS, _more, max_leaves=6), st.text("ab1-.", max_size=6))
def test_it_agrees_with_another_implementation(text: str, name: str) -> None:
    assert compiled(text).matches(name) is bool(re.fullmatch(text, name))


BAD = {
    "(": "missing ): (", ")": "unexpected ): )", "[a": "missing ]: [a",
    "*a": "no argument for repetition operator: *", "a**": "bad repetition operator: **",
    "[c-a]": "invalid character class range: c-a", "a{2000}": "invalid repetition size: {2000}",
    "(?=a)": "invalid perl operator: (?=", "((a{100}){100}){100}": "invalid repetition size",
    "a" * (limits.REGEX_LENGTH.number + 1): "it is longer than 1000 characters",
    "\\": "trailing \\",
}  # fmt: skip


@pytest.mark.parametrize(("text", "why"), BAD.items(), ids=[text[:12] for text in BAD])
def test_what_cannot_be_used_is_told(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)):
        compiled(text)


@given(st.text(max_size=30))
def test_any_text_is_an_expression_or_told_to_be_none(text: str) -> None:
    with suppress(ValueError):
        compiled(text).matches("app-1.config")


@pytest.mark.parametrize("text", ["(a*)*b", "(a|a)*b", "a*a*a*a*a*a*b", "(a?){50}a{50}b"])
def test_no_expression_can_be_slow(text: str) -> None:
    """With backtracking each of these would not end in anybody's lifetime."""
    assert not compiled(text).matches("a" * 253)


@pytest.mark.parametrize(
    ("text", "plain"), [("app-1", True), ("app.config", False), ("a*", False), ("", False)]
)
def test_a_plain_name_is_told_apart(text: str, plain: bool) -> None:
    assert is_plain(text) is plain
