"""Objects as large and as hostile as the API server takes them cost a bounded amount of work."""

from datetime import UTC, datetime, timedelta
from itertools import product
from string import ascii_lowercase
from typing import Any

import pytest
from tests.core.build import DEPLOYMENT, HOME, configmap, pod_spec, reference
from tests.support.steps import growth, steps

from reroll.core.dialects.rows import PolicyInput
from reroll.core.dialects.table import ALL
from reroll.core.dialects.wave import EXTRA, WAVE
from reroll.core.model.key import Key, Problem, first_problems
from reroll.core.policy.patterns import PatternIndex, parse_patterns
from reroll.core.policy.policy import Pause, Policy, without_ignored
from reroll.core.policy.references import references, uses
from reroll.core.policy.regexes import compiled
from reroll.core.policy.select import claimed
from reroll.core.tables import limits
from reroll.core.tables.limits import LIMITS
from reroll.core.tables.reasons import Reason

WEB = Key("Deployment", HOME, "web")
SIZE = 240 * 1024
"""What fits in the annotations of one object."""
OPTED_IN = {
    "reroll.dev/enabled": "true",
    "reloader.stakater.com/auto": "true",
    "wave.pusher.com/update-on-config-change": "true",
}
PERIOD, SINCE = (
    f"deployment.reloader.stakater.com/{name}" for name in ("pause-period", "paused-at")
)


def policy(annotations: dict[str, str]) -> Policy:
    return ALL.policy(PolicyInput(WEB, DEPLOYMENT, OPTED_IN | annotations, {}, {}, Policy()))


def wall(item: str, size: int = SIZE) -> str:
    """A list as long as an annotation can be, of items that are all different."""
    names = ("".join(letters) for letters in product(ascii_lowercase, repeat=4))
    length = len(item.format("aaaa")) + 1
    return ",".join(
        item.format(name) for name, _ in zip(names, range(size // length), strict=False)
    )


LISTS = {
    "reroll.dev/sources": "cm/{}",
    "reroll.dev/ignore": "cm/{}",
    "configmap.reloader.stakater.com/reload": "{}",
    "secret.reloader.stakater.com/reload": "{}",
    "configmaps.exclude.reloader.stakater.com/reload": "{}",
    "secrets.exclude.reloader.stakater.com/reload": "{}",
    **dict.fromkeys(EXTRA.values(), "{}"),
}


def patterns_of(found: Policy) -> int:
    but = sum(len(claim.but) for claim in found.claims)
    return len(set(found.named)) + len(found.ignore) + but


@pytest.mark.parametrize("key", LISTS)
@pytest.mark.parametrize("form", ["", "other-namespace/", "!"], ids=["names", "foreign", "bad"])
def test_a_list_of_any_length_costs_no_more_than_its_limit_and_says_so(key: str, form: str) -> None:
    item = LISTS[key].replace("{}", form + "{}")
    found = policy({key: wall(item)})

    assert patterns_of(found) <= limits.PATTERNS.number
    assert len(found.problems) <= limits.PROBLEMS.number + 1
    told = [one.sentence for one in found.problems if one.reason is Reason.TOO_MANY_PATTERNS]
    assert sum(f"annotation {key} on {WEB}: has more than 200 items" in one for one in told) == 1
    assert all(len(problem.sentence) < 400 for problem in found.problems)


@pytest.mark.parametrize("key", LISTS)
def test_a_list_that_is_as_long_as_it_may_be_is_read_whole(key: str) -> None:
    item = LISTS[key]
    text = ",".join(item.format(f"n{number}") for number in range(limits.PATTERNS.number))
    found = policy({key: f" , {text},,"})

    assert patterns_of(found) == limits.PATTERNS.number
    assert found.problems == ()


def test_the_work_for_annotations_does_not_grow_beyond_the_limit() -> None:
    def work(size: int) -> object:
        walls = {key: wall(item, size) for key, item in LISTS.items()}
        found = policy(walls)
        return claimed(HOME, (), found, lambda one: (Key(one.kind, HOME, one.name),))

    lists = {key: wall(item, 8_000) for key, item in LISTS.items()}
    more = {key: wall(item, 32_000) for key, item in LISTS.items()}
    assert steps(lambda: policy(more)) < 1.1 * steps(lambda: policy(lists))
    assert growth(work, 4_000) < 2.2


def test_what_is_named_and_what_is_ignored_are_not_multiplied() -> None:
    def work(size: int) -> object:
        ignore, _ = parse_patterns(",".join(f"cm/i{n}#k,cm/x{n}" for n in range(size // 2)), "here")
        named = tuple(reference(configmap(f"n{n}")) for n in range(size))
        return without_ignored(named, Policy(ignore=ignore), HOME)

    assert growth(work, 100) < 2.5


def test_an_index_finds_what_the_patterns_mean() -> None:
    texts = "cm/a, cm/a#k, cm/other/a, secret/a, cm/a*, cm/[ab], cm/other/*, secret/?"
    patterns, _ = parse_patterns(texts, "here")
    index = PatternIndex(patterns, HOME)
    sources = [Key(kind, place, name) for kind in ("ConfigMap", "Secret")
               for place in (HOME, "other", "third") for name in ("a", "b", "ab", "c")]  # fmt: skip

    for source in sources:
        wanted = {one for one in patterns if one.matches(source, HOME)}
        assert set(index.matching(source)) == wanted, source


HOSTILE = "(?:(?:[a-z]?){30}){30}-7"


def test_regular_expressions_count_as_far_as_they_can_be_afforded() -> None:
    key = "configmap.reloader.stakater.com/reload"
    many = policy({key: wall("app-{}.*")})
    assert sum(one.regex for one in many.named) == limits.GLOBS.number
    assert "names more than 20 regular expressions" in " ".join(p.sentence for p in many.problems)

    costly = policy({key: ",".join([HOSTILE, "app-.*", *(f"(a?){{50}}{n}" for n in range(18))])})
    kept = [one.name for one in costly.named if one.regex]
    assert HOSTILE not in kept
    assert "app-.*" in kept
    assert sum(compiled(text).cost for text in kept) <= limits.REGEX_COST.number
    told = [one for one in costly.problems if HOSTILE in one.sentence]
    assert [one.reason for one in told] == [Reason.TOO_MANY_PATTERNS]


def test_regular_expressions_of_all_kinds_share_one_budget() -> None:
    found = policy(
        {
            f"{kind}.reloader.stakater.com/reload": ",".join(f"{kind}-{n}.*" for n in range(15))
            for kind in ("configmap", "secret", "secretproviderclass")
        }
    )
    assert sum(one.regex for one in found.named) == limits.GLOBS.number
    assert {one.reason for one in found.problems} == {Reason.TOO_MANY_PATTERNS}


def test_globs_count_up_to_their_limit_and_names_after_them_too() -> None:
    text = ",".join([*(f"cm/{n}-*" for n in range(30)), "cm/plain"])
    patterns, problems = parse_patterns(text, "here")

    assert sum(one.is_glob for one in patterns) == limits.GLOBS.number
    assert "plain" in {one.name for one in patterns}
    [problem] = problems
    assert problem.reason is Reason.TOO_MANY_PATTERNS
    assert problem.sentence.startswith("here: has more than 20 globs; the last 10 do not count")


def test_wave_reads_the_values_of_no_more_sources_than_count() -> None:
    assert WAVE.of_values
    wanted = WAVE.of_values(WEB, None, {EXTRA["Secret"]: wall("{}")})
    assert len(wanted.sources) == limits.PATTERNS.number


# Pod templates


def spec_of(volumes: int, mounts: int, items: int = 0) -> Any:
    some = [{"key": f"k{n}", "path": f"p{n}/f"} for n in range(items)] or None
    return pod_spec(
        containers=[
            {
                "name": "web",
                "volumeMounts": [
                    {"name": f"v{n % volumes}", **({"subPath": f"p{n}"} if items else {})}
                    for n in range(mounts)
                ],
            }
        ],
        volumes=[
            {"name": f"v{n}", "configMap": {"name": f"c{n}", "items": some}} for n in range(volumes)
        ],
    )


@pytest.mark.parametrize(
    ("volumes", "items"), [(0, 0), (1, 0), (1, -1)], ids=["volumes", "one volume", "its items"]
)
def test_volumes_mounts_and_items_are_not_multiplied(volumes: int, items: int) -> None:
    def work(size: int) -> object:
        spec = spec_of(volumes or size, size, items and size)
        return references(HOME, uses(spec), mounts_are_live=False)

    assert growth(work, 200) < 2.5


def test_a_mount_shows_what_its_sub_path_names() -> None:
    found = references(HOME, uses(spec_of(1, 3, 5)), mounts_are_live=False)
    assert [(one.keys, one.required_keys) for one in found] == [
        (frozenset(("k0", "k1", "k2")), frozenset(f"k{n}" for n in range(5)))
    ]


# Times


@pytest.mark.parametrize("text", ["999999999d", "366d", "99999999999999999d"])
def test_a_pause_without_end_is_no_pause_and_is_told(text: str) -> None:
    found = policy({PERIOD: text, SINCE: "2026-11-16T09:00:00Z"})
    [problem] = found.problems
    assert "is not a duration of at most a year" in problem.sentence
    assert found.pause
    assert found.pause.until == found.pause.since


@pytest.mark.parametrize("since", ["9999-12-31T23:59:59Z", "9999-12-31T23:59:59-23:59"])
def test_a_pause_since_the_end_of_time_ends_there(since: str) -> None:
    found = policy({PERIOD: "5m", SINCE: since})
    if found.pause and found.pause.until:
        assert found.pause.until.year == 9999
    last = datetime.max.replace(tzinfo=UTC)
    assert Pause(timedelta(days=365), SINCE, last).until == last


# Problems


def test_as_many_problems_are_listed_as_people_read_and_limits_are_among_them() -> None:
    bad = [Problem(f"{n} is bad") for n in range(40)]
    limit = Problem("too long", Reason.TOO_MANY_PATTERNS)
    found = first_problems([*bad, bad[0], limit], "it")

    assert found[0] == limit
    assert found[1:-1] == tuple(bad[:9])
    assert found[-1] == Problem("it has 31 more problems than are listed", Reason.TOO_MANY_PROBLEMS)
    assert first_problems(bad[:10], "it") == tuple(bad[:10])


def test_every_limit_has_a_reason_or_loses_nothing_that_people_wrote() -> None:
    silent = [f"{limit.what}; {limit.beyond}" for limit in LIMITS if limit.reason is None]
    words = ("Event", "cached", "nothing is lost")
    assert all(any(word in row for word in words) for row in silent)
    words = {limit.reason.word for limit in LIMITS if limit.reason}
    every = {reason.word for reason in Reason if reason.word.startswith("TooMany")}
    assert every <= words
