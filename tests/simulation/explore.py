"""Stories that hypothesis makes up: `make simulate` runs as many as it is told."""

import os

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.simulation.stories import ALL_ACTS, LIMITS, Step, Story, tell

from reroll.core.model.pace import Limits

EXAMPLES = int(os.environ.get("REROLL_SIMULATIONS", "100"))


@st.composite
def stories(draw: st.DrawFn) -> Story:
    pace = {"max_parallel": draw(st.sampled_from(LIMITS))}
    for word, texts in (
        ("on_failure", ("hold", "rollback", "continue")),
        ("soak", ("3s",)),
        ("exclusive", ("db",)),
        ("revisions", ("true",)),
        ("deadline", ("10s",)),
        ("cooldown", ("20s",)),
    ):
        if text := draw(st.sampled_from(("", *texts))):
            pace[word] = text
    source = {"max_parallel": draw(st.sampled_from(LIMITS))} if draw(st.booleans()) else {}
    steps = st.builds(
        Step,
        st.sampled_from((0.0, 0.02, 0.3, 1.0, 4.0, 30.0)),
        st.sampled_from((*ALL_ACTS, "good", "bad", "kill", "kill")),
        st.integers(0, 9),
    )
    return Story(
        size=draw(st.integers(1, 7)),
        pace=pace,
        source=source,
        waves=draw(st.sampled_from((1, 1, 2))),
        limits=draw(st.sampled_from((Limits(), Limits(), Limits(cluster=2), Limits(namespace=3)))),
        second=draw(st.booleans()),
        standby=draw(st.booleans()),
        faults=draw(st.sampled_from((0.0, 0.05, 0.2))),
        steps=tuple(draw(st.lists(steps, max_size=12))),
        seed=draw(st.integers(0, 1000)),
    )


@given(stories())
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
def test_whatever_happens_the_laws_hold_and_it_ends(story: Story) -> None:
    tell(story)
