"""What tests with neighbours look at."""

import time
from collections.abc import Callable
from typing import Any

import yaml
from tests.scenarios.stage import Stage
from tests.support.build import Object
from tests.support.pages import DOCS, files

from reroll_dev.api import path_to

QUIET = 6.0
"""For how long nothing may happen: several rounds of whoever looks at everything again."""


def custom(version: str, kind: str, name: str, **fields: Any) -> Object:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **fields}


def shown(page: str) -> dict[str, Object]:
    """The objects of a guide, by the name of their file."""
    text = (DOCS / "guides" / page).read_text(encoding="utf-8")
    return {name: yaml.safe_load(block) for name, block in files(text).items()}


def is_ready(seen: Object, kind: str = "Ready") -> bool:
    conditions = seen.get("status", {}).get("conditions") or ()
    generation = seen["metadata"].get("generation", 0)
    return any(
        one["type"] == kind
        and one["status"] == "True"
        and one.get("observedGeneration", generation) == generation
        for one in conditions
    )


def secret(stage: Stage, name: str = "db") -> Object:
    """Waited for, as it is now."""
    return stage.api.wait_for(path_to("Secret", name, stage.namespace), bool, timeout=60)


def data(stage: Stage, name: str = "db") -> dict[str, str]:
    found: dict[str, str] = secret(stage, name).get("data", {})
    return found


def templates(stage: Stage, web: Object) -> int:
    """How many templates it had: one for each roll, and the first."""
    return len(stage.revisions(web))


def rollouts(stage: Stage, web: Object) -> int:
    """How many it had: the number grows when an old ReplicaSet is taken again, too."""
    counts = [
        int(one["metadata"]["annotations"]["deployment.kubernetes.io/revision"])
        for one in stage.revisions(web)
    ]
    return max(counts)


def stays(holds: Callable[[], bool], what: str, seconds: float = QUIET, every: float = 0.2) -> None:
    """For so long. A settling time, not a measurement."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert holds(), what
        time.sleep(every)


def rolled_once(stage: Stage, web: Object, since: int) -> dict[str, Any]:
    """Wait until it rolled, and see that it does not do so again; the record."""
    record = stage.rolled(web, since=since)
    stage.settled(web)
    count = rollouts(stage, web)
    stays(lambda: stage.record(web) == record, "it rolled again")
    assert rollouts(stage, web) == count
    return record
