"""What a rollout has come to: the one place that says whether a workload is still waited for.

At least as strict as `kubectl rollout status`: it is over when the controller of the workload has
seen the template, every pod is of it, none of before is left, and all are ready. Pure.
"""

from typing import NamedTuple

from reroll.core.observe.health import Health, State
from reroll.pipeline.work import Stage


class Verdict(NamedTuple):
    stage: Stage
    detail: str = ""

    @property
    def is_over(self) -> bool:
        return self.stage is not Stage.ROLLING


def verdict(health: Health, crash_loop: str = "", *, replaces: bool = True) -> Verdict:
    """By the status of the workload, and by its pods of the present template.

    `crash_loop`: which of these end again and again. `replaces`: a changed template replaces pods;
    where it does not (`OnDelete`), only those that run are waited for.
    """
    if health.state is State.FAILED:
        return Verdict(Stage.FAILED, health.message)
    if health.state is State.DONE or (not replaces and health.ready >= health.total):
        return Verdict(Stage.ROLLED, health.message if replaces else ON_DELETE)
    if crash_loop:
        return Verdict(Stage.FAILED, "; ".join(filter(None, (health.message, crash_loop))))
    return Verdict(Stage.ROLLING, health.message)


ON_DELETE = "its pods are replaced when they are deleted"
