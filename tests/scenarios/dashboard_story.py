"""What a person decides from the dashboard, told once: a program plays it, and a browser."""

from collections.abc import Callable

from tests.scenarios.propagating import Start, change, pinned, told
from tests.scenarios.revised import REVISIONS, pinned_anew, pins
from tests.scenarios.stage import Stage, eventually
from tests.support import build
from tests.support.build import Object

from reroll_dev.api import ApiError, path_to

Press = Callable[..., str]
"""`press(page, action, **fields)` once the button is there; what the page says then."""
APP = ("ConfigMap", "app")


def pressed(stage: Stage, controller: Start, press: Press) -> None:
    """Reject, approve, abort, promote, go back, release, call urgent: each is seen to happen."""
    asks = {"reroll.dev/canary": "1", "reroll.dev/canary-pause": "manual"}
    uses = ["configmap/app"]
    web = build.deployment("web", replicas=1, uses=uses, annotations={**REVISIONS, **asks})
    other = build.deployment("other", replicas=1, uses=uses, annotations=dict(REVISIONS))
    stage.make(build.configmap(annotations={"reroll.dev/approval": "required"}), web, other)
    controller()
    stage.adopted(web)
    pinned(stage, [web, other])
    old = pins(stage, web)[APP]
    source = f"/source/ConfigMap/{stage.namespace}/app"
    workload = f"/workload/Deployment/{stage.namespace}/"

    change(stage, "first")
    assert "Rejected: ConfigMap" in press(source, "reject", reason="too large")
    told(stage, other, "Unapproved", "was rejected by", "too large")
    assert "Approved: ConfigMap" in press(source, "approve")
    new = pinned_anew(stage, other, old)

    eventually(lambda: _is_there(stage, "web-canary"), "there is a canary")
    assert "Aborted" in press(f"{workload}web", "abort")
    eventually(lambda: not _is_there(stage, "web-canary"), "the canary is gone")
    assert pins(stage, web)[APP] == old
    assert "Promoted" in press(f"{workload}web", "promote")
    assert pinned_anew(stage, web, old) == new

    stage.settled(other)
    assert "has the content of revision" in press(f"{workload}other", "use")
    eventually(lambda: pins(stage, other)[APP] == old, "it went back")
    assert "Released" in press(f"{workload}other", "release")
    eventually(lambda: pins(stage, other)[APP] == new, "it goes forward again")

    assert "Urgent from now on" in press(source, "urgent")
    assert _annotation(stage, "urgent") == "true"
    assert "No longer urgent" in press(source, "calm")
    assert _annotation(stage, "urgent") is None


def _is_there(stage: Stage, name: str) -> Object | None:
    try:
        return stage.api.get(path_to("Deployment", name, stage.namespace))
    except ApiError as error:
        if error.status != 404:
            raise
        return None


def _annotation(stage: Stage, name: str) -> str | None:
    found = stage.get(build.configmap())["metadata"]["annotations"].get(f"reroll.dev/{name}")
    return None if found is None else str(found)
