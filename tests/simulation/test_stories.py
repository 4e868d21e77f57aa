"""Whatever is killed, lost or changed when: the laws of propagation hold, and it ends.

`make simulate` makes up more stories than these.
"""

import random
from datetime import timedelta
from itertools import pairwise

import pytest
from tests.simulation.model import Model
from tests.simulation.stories import ACTS, LIMITS, Step, Story, tell
from tests.simulation.virtual_time import run

from reroll.core.model.pace import Limits
from reroll.settings.table import Settings

ONCE_BROKEN = (72, 92, 94, 98, 446, 678, 1094, 1242, 2024, 2446, 2924, 3296, 6250, 8364, 8393)
"""Stories that found a defect: a turn that was lost, two that waited for each other, a change that
was declined because it came while the one before was taken back, a round that began one early."""


def random_story(seed: int) -> Story:
    chance = random.Random(seed)
    pace = {"max_parallel": chance.choice(LIMITS)}
    for word, texts in (
        ("on_failure", ("hold", "rollback", "continue")),
        ("soak", ("3s",)),
        ("exclusive", ("db",)),
        ("revisions", ("true",)),
        ("deadline", ("10s",)),
        ("cooldown", ("20s",)),
    ):
        if text := chance.choice(("", *texts)):
            pace[word] = text
    source = {"max_parallel": chance.choice(LIMITS)} if chance.random() < 0.5 else {}
    steps = tuple(
        Step(
            chance.choice((0.0, 0.02, 0.3, 1.0, 4.0, 30.0)),
            chance.choice((*ACTS, "good", "bad", "kill", "kill")),
            chance.randrange(10),
        )
        for _ in range(chance.randrange(12))
    )
    return Story(
        size=chance.randint(1, 7),
        pace=pace,
        source=source,
        waves=chance.choice((1, 1, 2)),
        limits=chance.choice((Limits(), Limits(), Limits(cluster=2), Limits(namespace=3))),
        second=chance.random() < 0.5,
        standby=chance.random() < 0.5,
        faults=chance.choice((0.0, 0.05, 0.2)),
        steps=steps,
        seed=seed,
    )


@pytest.mark.parametrize("seed", ONCE_BROKEN)
def test_a_story_that_once_broke_a_law_ends_well(seed: int) -> None:
    tell(random_story(seed))


def test_a_wave_that_waits_is_judged_by_what_it_has() -> None:
    """Else it is under way for ever: the wave before waits for it, and it for that wave."""
    steps = (Step(1.0, "good", 1), Step(8.0, "good", 2), Step(0.0, "kill"), Step(4.0, "good", 3))
    pace = {"max_parallel": "one", "cooldown": "20s"}
    for seed in range(3):
        tell(Story(size=4, pace=pace, waves=2, steps=steps, seed=seed))


def test_answers_that_are_lost_let_none_begin_beside_others() -> None:
    steps = (Step(1.0, "good", 1), Step(0.3, "hold", 0), Step(4.0, "good", 2))
    for seed in range(4):
        tell(Story(size=3, pace={"max_parallel": "one"}, faults=0.3, steps=steps, seed=seed))


@pytest.mark.parametrize("on_failure", ["hold", "rollback"])
def test_content_that_failed_reaches_nobody_who_is_behind(on_failure: str) -> None:
    """Whoever is killed, held, let go or scaled meanwhile, until the source changes."""
    steps = (
        Step(1.0, "bad", 1), Step(30.0, "kill"), Step(1.0, "hold", 4), Step(4.0, "let go", 4),
        Step(0.3, "scale", 2), Step(4.0, "kill"), Step(30.0, "good", 2),
    )  # fmt: skip
    pace = {"max_parallel": "doubling", "on_failure": on_failure, "deadline": "10s"}
    for seed, revisions in enumerate(({}, {"revisions": "true"})):
        tell(Story(size=6, pace=pace | revisions, standby=bool(seed), steps=steps, seed=seed))


@pytest.mark.parametrize("content", ["good", "bad"])
@pytest.mark.parametrize("act", ["deploy", "deploy meanwhile"])
def test_a_template_of_another_writer_is_no_verdict_on_our_content(content: str, act: str) -> None:
    steps = (Step(1.0, content, 0), Step(2.0, act, 0), Step(0.0, act, 1), Step(30.0, act, 2))
    for seed in range(3):
        pace = {"max_parallel": "2", "on_failure": "rollback", "soak": "3s", "deadline": "10s"}
        tell(Story(size=3, pace=pace, standby=seed == 2, steps=steps, seed=seed))


def test_a_change_right_after_writes_that_nobody_saw_yet_still_goes_to_one_first() -> None:
    """The controllers of Kubernetes see a written annotation later, and no pod changes for it."""
    assert run(_changed_at_once(8)) == [1, 2, 4, 1]


async def _changed_at_once(size: int) -> list[int]:
    """How many rolled in each round."""
    model = Model(Settings(debounce=timedelta()), seed=1)
    model.source()
    for number in range(size):
        model.workload(f"web-{number}", max_parallel="doubling")
    await model.start()
    await model.settle()
    for name in model.names():
        model.annotate(name, team="shop")
    model.change("v1")
    await model.settle()
    times = sorted(roll.at for roll in model.laws.rolls)
    rounds = [1]
    for before, after in pairwise(times):
        if after - before > 0.5:  # A pod takes a second at least to start.
            rounds.append(0)
        rounds[-1] += 1
    return rounds
