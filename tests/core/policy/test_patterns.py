"""How people name sources in annotations."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.build import configmap, secret

from reroll.core.model.key import Key
from reroll.core.policy.patterns import Pattern, parse_patterns

WHERE = "annotation reroll.dev/sources on Deployment shop/web"
GOOD = {
    "configmap/app": Pattern("ConfigMap", None, "app"),
    "ConfigMap/app": Pattern("ConfigMap", None, "app"),
    "cm/app": Pattern("ConfigMap", None, "app"),
    "secrets/db": Pattern("Secret", None, "db"),
    "secret/db#password": Pattern("Secret", None, "db", "password"),
    "secret/db#.dockerconfigjson": Pattern("Secret", None, "db", ".dockerconfigjson"),
    "configmap/shared/ca": Pattern("ConfigMap", "shared", "ca"),
    "configmap/shared/ca-*": Pattern("ConfigMap", "shared", "ca-*"),
    "secret/vault/*#tls.crt": Pattern("Secret", "vault", "*", "tls.crt"),
    "spc/vault": Pattern("SecretProviderClass", None, "vault"),
    "configmap/app.v1": Pattern("ConfigMap", None, "app.v1"),
    "configmap/app-[ab]-?": Pattern("ConfigMap", None, "app-[ab]-?"),
    "configmap/[!a]pp": Pattern("ConfigMap", None, "[!a]pp"),
    "configmap/" + "a" * 253: Pattern("ConfigMap", None, "a" * 253),
}
SHAPE, KIND, NAMESPACE, NAME, KEY = (
    'is not a source; write e.g. "configmap/app" or "secret/other-namespace/db#password"',
    "begins with no known kind; use one of configmap, secret, secretproviderclass",
    "has a namespace that is not a plain name; globs are only for names",
    "has a name that is neither a name nor a glob of *, ? and [abc]",
    'has no valid key after "#"; keys have letters, digits, "-", "_" and "."',
)
BAD = {
    "app": SHAPE,
    "true": SHAPE,
    "configmap/a/b/c": SHAPE,
    "#key": SHAPE,
    "deployment/web": KIND,
    "/app": KIND,
    "configmap /app": KIND,
    "configmap/team-*/app": NAMESPACE,
    "configmap//app": NAMESPACE,
    "configmap/Team/app": NAMESPACE,
    "configmap/": NAME,
    "configmap/App": NAME,
    "configmap/-app": NAME,
    "configmap/app-": NAME,
    "configmap/a b": NAME,
    "configmap/a_b": NAME,
    "configmap/a!b": NAME,
    "configmap/a]": NAME,
    "configmap/[ab": NAME,
    "configmap/[]": NAME,
    "configmap/[!]": NAME,
    "configmap/[[a]]": NAME,
    "configmap/" + "a" * 254: NAME,
    "secret/db#": KEY,
    "secret/db#a#b": KEY,
    "secret/db#a/b": KEY,
    "secret/db#pass word": KEY,
}


@pytest.mark.parametrize(("text", "expected"), GOOD.items(), ids=[text[:30] for text in GOOD])
def test_a_pattern_is_read(text: str, expected: Pattern) -> None:
    assert parse_patterns(text, WHERE) == ((expected,), ())


@pytest.mark.parametrize(("text", "why"), BAD.items(), ids=[repr(text[:30]) for text in BAD])
def test_what_is_no_pattern_is_a_sentence_with_what_where_and_what_to_do(
    text: str, why: str
) -> None:
    patterns, (problem,) = parse_patterns(text, WHERE)

    assert patterns == ()
    assert problem.sentence == f"{WHERE}: {text[:80]!r} {why}"


def test_one_bad_item_spoils_only_itself() -> None:
    patterns, problems = parse_patterns(" configmap/a,, nonsense , secret/b#k,configmap/a,", WHERE)

    assert patterns == (Pattern("ConfigMap", None, "a"), Pattern("Secret", None, "b", "k"))
    assert len(problems) == 1


MATCHES: dict[str, tuple[str, Key, bool]] = {
    "its own namespace is meant": ("configmap/app", configmap("app"), True),
    "and no other": ("configmap/app", configmap("app", "other"), False),
    "another namespace is meant": ("configmap/other/app", configmap("app", "other"), True),
    "and not its own": ("configmap/other/app", configmap("app"), False),
    "the kind counts": ("configmap/app", secret("app"), False),
    "a plain name is no prefix": ("configmap/app", configmap("app-2"), False),
    "a star means anything": ("configmap/ca-*", configmap("ca-1.x"), True),
    "also nothing": ("configmap/ca-*", configmap("ca-"), True),
    "a question mark is one character": ("configmap/ca-?", configmap("ca-10"), False),
    "brackets are a choice": ("configmap/ca-[12]", configmap("ca-2"), True),
    "brackets can exclude": ("configmap/ca-[!12]", configmap("ca-2"), False),
    "a dot is a dot": ("configmap/a.b", configmap("axb"), False),
}


@pytest.mark.parametrize(("text", "source", "expected"), MATCHES.values(), ids=MATCHES)
def test_what_a_pattern_means(text: str, source: Key, expected: bool) -> None:
    (pattern,), _ = parse_patterns(text, WHERE)

    assert pattern.matches(source, "shop") is expected


def test_only_a_pattern_with_a_wildcard_is_a_glob() -> None:
    found = [text for text in GOOD if parse_patterns(text, WHERE)[0][0].is_glob]

    assert found == [text for text in GOOD if any(mark in text for mark in "*?[")]


@pytest.mark.parametrize("text", GOOD, ids=[text[:30] for text in GOOD])
def test_a_pattern_reads_back_as_it_is_written(text: str) -> None:
    (pattern,), _ = parse_patterns(text, WHERE)

    assert parse_patterns(str(pattern), WHERE) == ((pattern,), ())


likely = st.lists(st.sampled_from(["configmap", "secret", "cm", "/", "#", "*", "[", "]", "!", "a",
    "-", "?", ".", ",", " ", "B", "\n"])).map("".join)  # fmt: skip


@given(st.text() | likely, st.sampled_from([configmap("a"), secret("b-a")]))
def test_arbitrary_text_never_raises_and_nothing_is_lost_in_silence(text: str, key: Key) -> None:
    patterns, problems = parse_patterns(text, WHERE)

    items = {item.strip() for item in text.split(",")} - {""}
    assert (len(patterns) + len(problems) > 0) == bool(items)
    for pattern in patterns:
        pattern.matches(key, "shop")
        assert parse_patterns(str(pattern), WHERE) == ((pattern,), ())
