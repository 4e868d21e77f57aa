"""Revisions: every pod has the configuration of its own revision."""

from collections.abc import Callable

import pytest
from tests.scenarios.stage import ENABLED, Controller, Stage, a, alone, eventually
from tests.support import build

from reroll.core.kinds import KINDS

Start = Callable[..., Controller]
REVISIONS = {**ENABLED, "reroll.dev/revisions": "true"}
PINS = "reroll.dev/pins"


@pytest.mark.parametrize("mode", ["admission", "template"])
def test_a_template_is_pinned_to_copies(stage: Stage, controller: Start, mode: str) -> None:
    web = a(
        KINDS[0],
        uses=["configmap/app", "secret/db"],
        annotations={**REVISIONS, "reroll.dev/pin": mode},
    )
    stage.make(build.configmap("app", {"key": "first"}), build.secret("db"), web)
    alone(controller)
    eventually(lambda: stage.template(web)["metadata"].get("annotations", {}).get(PINS))
    number = stage.record(web)["n"]
    stage.change("ConfigMap", "app", key="second")
    stage.rolled(web, since=number)
    stage.settled(web)
