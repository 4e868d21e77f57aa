"""Who is woken when a change propagates: those that may begin, at the price of one, and no more."""

import gc
import tracemalloc

import pytest
from tests.core.build import DEPLOYMENT
from tests.engine.spreading import Cluster
from tests.support.steps import steps

from reroll.core.decide.chains import decide
from reroll.core.decide.superseding import superseded
from reroll.core.model.key import Key
from reroll.core.model.pace import Limits
from reroll.core.tables.reasons import Reason


def cluster(count: int, limits: Limits | None = None, **annotations: str) -> Cluster:
    """So many Deployments that use one ConfigMap and are recorded with it."""
    one = Cluster(limits)
    for number in range(count):
        one.deployment(f"web-{number}", **annotations)
    one.configmap("first", version=50)
    one.run()
    assert not one.rolled
    return one


def web(number: int) -> Key:
    return Key("Deployment", "shop", f"web-{number}")


def spread(one: Cluster) -> list[int]:
    """How many roll in each round, where all of a round become healthy."""
    found = []
    while True:
        before = len(one.rolled)
        one.run()
        new = one.rolled[before:]
        if not new:
            return found
        found.append(len(new))
        for key in new:
            one.complete(key)


def test_rounds_of_a_change_double() -> None:
    one = cluster(8, max_parallel="doubling")
    one.configmap("second")
    assert spread(one) == [1, 2, 4, 1]
    assert len(set(one.rolled)) == 8


# Who is in nobody's way any more


def test_those_that_waited_begin_when_nobody_asks_for_care_any_more() -> None:
    one = cluster(4)
    one.annotate(web(0), wave="-1")
    one.configmap("second")
    one.run()
    assert one.rolled == [web(0)]
    assert one.reasons[web(1)] is Reason.AFTER_OTHERS

    one.gone(web(0))
    one.run()

    assert sorted(one.rolled[1:]) == [web(1), web(2), web(3)]


def test_a_turn_that_is_not_taken_goes_to_the_next() -> None:
    one = cluster(4, Limits(cluster=1))
    one.configmap("second")
    one.run()
    [first] = one.rolled
    # Two of those that wait cannot begin when it is their turn: a person holds them by then.
    *held, last = [web(number) for number in range(4) if web(number) != first]
    for key in held:
        one.annotate(key, hold="true")
    one.woken.clear()

    one.complete(first)
    one.run()

    assert one.rolled == [first, last]


def test_the_turn_of_one_that_left_while_it_waited_goes_to_the_next() -> None:
    one = cluster(3, Limits(cluster=1))
    one.configmap("second")
    one.run()
    [first] = one.rolled
    gone, last = [web(number) for number in range(3) if web(number) != first]
    one.gone(gone)

    one.complete(first)
    one.run()

    assert one.rolled == [first, last]


def test_a_turn_that_another_source_keeps_from_being_taken_goes_to_the_next() -> None:
    one = Cluster()
    slow = one.deployment("slow", "other", wave="-1")
    both = [one.deployment(f"both-{n}", "app", "other", max_parallel="one") for n in range(8)]
    alone = [one.deployment(f"alone-{n}", max_parallel="one") for n in range(3)]
    one.configmap("first", version=50)
    one.configmap("first", "other", version=51)
    one.run()
    one.configmap("second", "other")
    one.run()
    assert one.rolled == [slow]
    assert one.reasons[both[0]] is Reason.AFTER_OTHERS

    one.configmap("second")
    for _ in alone:
        one.run()
        one.complete(one.rolled[-1])

    assert sorted(one.rolled[1:]) == alone


def test_who_flaps_keeps_its_turn_no_longer_than_its_rollout() -> None:
    one = cluster(3, max_parallel="one", max_rolls="2/1h")
    one.configmap("second")
    one.run()
    [first] = one.rolled
    one.configmap("third")
    one.run()
    assert one.rolled == [first, first]
    one.configmap("fourth")
    one.run()
    assert one.reasons[first] is Reason.FLAPPING
    assert len(one.rolled) == 2

    one.complete(first)
    one.run()

    assert len(one.rolled) == 3
    assert one.rolled[2] != first


def test_a_change_by_another_writer_lets_nobody_begin_before_its_turn() -> None:
    one = cluster(3, max_parallel="one")
    for number in range(3):
        one.documents[web(number)]["metadata"]["generation"] += 1
        one.documents[web(number)]["spec"]["template"]["spec"]["containers"][0]["image"] = "web:2"
        one.complete(web(number))
    one.run()

    one.configmap("second")
    one.run()

    assert len(one.rolled) == 1


def test_one_that_stays_sick_gets_each_repair_at_once() -> None:
    one = cluster(3, max_parallel="one")
    one.give_up(web(2))
    for content in ("second", "third"):
        one.configmap(content)
        one.run()
        one.give_up(web(2))
        one.run()

    assert one.rolled.count(web(2)) == 2


# How long it was healthy


def test_a_pod_that_is_lost_begins_the_soak_time_again() -> None:
    one = cluster(1, soak="60s")
    one.configmap("second")
    one.run()
    one.complete(web(0))
    assert one.later(30, web(0)) == ""
    one.count(web(0), availableReplicas=0)
    assert one.later(10, web(0)) == ""
    one.count(web(0), availableReplicas=1)
    assert one.later(59, web(0)) == ""
    assert one.later(2, web(0)) == "healthy"


def test_to_be_scaled_goes_on_with_the_soak_time() -> None:
    one = cluster(1, soak="60s")
    one.configmap("second")
    one.run()
    one.complete(web(0))
    assert one.later(30, web(0)) == ""
    pods = {"updatedReplicas": 3, "availableReplicas": 1}
    one.documents[web(0)]["status"] |= pods
    one.count(web(0), replicas=3, **pods)
    one.count(web(0), availableReplicas=3)
    one.count(web(0), replicas=2, updatedReplicas=2, availableReplicas=2)
    assert one.later(31, web(0)) == "healthy"


def test_a_verdict_that_never_came_is_said_by_the_roll_that_came_instead() -> None:
    one = cluster(1, max_parallel="one")
    one.configmap("second")
    one.run()
    before = one.world.snapshot(web(0), DEPLOYMENT)
    one.configmap("third")
    cut = one.world.snapshot(web(0), DEPLOYMENT)
    assert before
    assert cut

    assert "configmap/app, for which it rolled at 12:00:00" in superseded(
        cut, decide(cut, one.clock.now())
    )
    assert superseded(before, decide(before, one.clock.now())) == ""


# What it costs

MANY = 5000
FEW_ROLLS = {"max_rolls": "20/1h"}


@pytest.mark.slow
def test_a_change_of_thousands_costs_each_of_them_a_few_looks() -> None:
    one = cluster(MANY, max_parallel="doubling")
    one.looks.clear()
    one.configmap("second")

    rounds = spread(one)

    assert rounds[:12] == [2**number for number in range(12)]
    assert sum(rounds) == len(set(one.rolled)) == MANY
    # For the change, for its turn, for its own write, for its rollout and for the verdict.
    assert one.looks.total() <= 6 * MANY
    assert max(one.looks.values()) <= 8


def test_an_event_costs_the_same_however_many_there_are() -> None:
    def work(count: int) -> int:
        one = cluster(count, max_parallel="one")
        one.configmap("second")
        one.run()
        [first] = one.rolled

        def event() -> None:
            one.complete(first)
            one.run()

        return steps(event)

    assert work(400) < 1.2 * work(100)


@pytest.mark.slow
def test_a_workload_that_propagates_takes_less_than_a_kilobyte_more() -> None:
    def size(count: int, **annotations: str) -> int:
        tracemalloc.start()
        one = cluster(count, **annotations)
        gc.collect()  # Python keeps tuples that nobody uses until then.
        found, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert len(one.world.workloads) == count
        return found

    count = 200
    # What is cached by the first use is not of a workload.
    _, _, more, less = (size(count, **one) for one in 2 * ({"max_parallel": "doubling"}, FEW_ROLLS))
    assert (more - less) / count < 1024


def test_a_roll_for_another_source_takes_nobody_out_of_those_that_are_healthy() -> None:
    """Else the round would have room for one more before it is over."""
    one = Cluster()
    for number in range(5):
        uses = ("app",) if number else ("app", "other")
        one.deployment(f"web-{number}", *uses, max_parallel="doubling")
    one.configmap("first", version=50)
    one.configmap("first", "other", version=51)
    one.run()
    one.configmap("second")
    one.run()
    assert one.rolled == [web(0)]
    one.complete(web(0))
    one.run()
    assert one.rolled[1:] == [web(1), web(2)]
    one.complete(web(1))

    one.configmap("second", "other")
    one.run()

    assert one.rolled[3:] == [web(0)]
    one.complete(web(0))
    one.run()
    assert one.rolled[4:] == []
    one.complete(web(2))
    one.run()
    assert one.rolled[4:] == [web(3), web(4)]
