"""Whatever people do, in whatever order: nothing is lost and nothing rolls twice.

A machine takes random steps in the model of a cluster. When the engine has settled, pods have what
their sources hold, except where somebody decided otherwise; and no pod was replaced for nothing.
"""

import copy

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from tests.core.build import configmap, env, env_from, template
from tests.core.cluster import Cluster, Values

from reroll.core.model.key import Key
from reroll.core.model.record import write
from reroll.core.tables.reasons import Reason

ALL, MAYBE, ONE, MORE = (configmap(name) for name in ("all", "maybe", "one", "more"))
USES = env_from(configmap="all") + env_from(configmap="maybe", optional=True)
sources = st.sampled_from([ALL, MAYBE, ONE, MORE])
keys = st.sampled_from(["k", "other"])
seconds = st.sampled_from([0.0, 1.0])


class Machine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.images = 1
        self.more = False
        self.undone = False
        self.unsure = False
        """Something happened that the engine cannot know: it may roll once more than needed."""
        self.excused: dict[Key, Values | None] = {}
        """Contents that somebody decided not to roll for."""

    @initialize(there=st.sets(sources))
    def install(self, there: set[Key]) -> None:
        self.cluster = Cluster(template(envFrom=copy.deepcopy(USES), env=[env("one", "k")]))
        for source in sorted(there):
            self.cluster.put(source, k="x", other="x")

    def wait(self, time: float) -> None:
        """Two writes in one second are in an order that times do not tell."""
        self.cluster.tick(time)
        self.unsure |= not time

    # What people do

    @rule(source=sources, key=keys, value=st.sampled_from("xy"), time=seconds)
    def change(self, source: Key, key: str, value: str, time: float) -> None:
        self.wait(time)
        new = {} if source in self.cluster.sources else {"k": "x"}
        self.cluster.put(source, **new | {key: value})
        if source in self.excused and self.excused[source] is None and source != MAYBE:
            # It was away when it was recorded: pods that are older than that are not told apart.
            self.excused[source] = self.cluster.values(source)

    @rule(source=sources, time=seconds)
    def delete(self, source: Key, time: float) -> None:
        self.wait(time)
        self.cluster.delete(source)

    @rule(time=seconds)
    def deploy(self, time: float) -> None:
        self.wait(time)
        self.images += 1
        self.cluster.edit(image=f"web:{self.images}")

    @rule(time=seconds)
    def refer_to_more_or_less(self, time: float) -> None:
        self.wait(time)
        self.more = not self.more
        more = env_from(configmap="more") if self.more else []
        self.cluster.edit(envFrom=copy.deepcopy(USES) + more)

    @rule(paused=st.booleans(), time=seconds)
    def pause(self, paused: bool, time: float) -> None:
        self.wait(time)
        self.cluster.pause(paused)

    @rule(time=seconds)
    def undo(self, time: float) -> None:
        self.wait(time)
        if self.cluster.undo():
            self.undone = True
            self._excuse()

    @rule()
    def remove_record(self) -> None:
        self.cluster.tick()
        self.cluster.remove_record()

    @rule()
    def set_record_back(self) -> None:
        self.cluster.tick()
        backup = self.cluster.backup
        is_known = backup is not None and write(backup[0]) != self.cluster.first_record
        if self.cluster.set_back() and self.cluster.seen is None and not is_known:
            self._excuse()  # Nothing in the cluster tells that there was a later one.

    @rule()
    def write_backup(self) -> None:
        self.cluster.flush()

    def _excuse(self) -> None:
        self.excused = {key: self.cluster.values(key) for key in (ALL, MAYBE, ONE, MORE)}

    # What happens to the controller

    @rule()
    def stop(self) -> None:
        self.cluster.stop()

    @rule()
    def cut(self) -> None:
        self.cluster.cut()

    @precondition(lambda self: not self.cluster.watching)
    @rule()
    def come_back(self) -> None:
        self.cluster.reconnect()

    @precondition(lambda self: self.cluster.watching)
    @rule()
    def look(self) -> None:
        self.cluster.tick(0.3)
        if self.cluster.is_new:
            self._excuse()
        unsure = self.unsure or self.cluster.is_new or self.cluster.pods_waited
        stale, before = self.cluster.stale(), len(self.cluster.rolls)
        done = self.cluster.settle()
        declines = {Reason.UNDONE, *({Reason.RECORD_RESTORED} if self.undone else ())}
        if any(one.reason in declines for one in done):
            self._excuse()
        self.undone = False
        rolls = len(self.cluster.rolls) - before
        assert rolls <= 1
        assert stale or unsure or not rolls, "it rolled pods that had everything"
        self._check_nothing_is_lost()
        # Pods that were left as they are have something else than the record says.
        self.unsure, self.cluster.pods_waited = bool(self.cluster.stale()), False
        self.cluster.start_pods()

    def _check_nothing_is_lost(self) -> None:
        if self.cluster.step().reason is Reason.UP_TO_DATE:
            held = self.cluster.values
            excused = {key for key, values in self.excused.items() if values == held(key)}
            assert self.cluster.stale() <= excused, "pods have old content, and nobody will know"


Machine.TestCase.settings = settings(max_examples=100, stateful_step_count=25)
TestCluster = Machine.TestCase
