"""What scenarios of rollbacks share: pods that are as sick as the configuration that they read."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

from tests.scenarios.revised import REVISIONS, contents, pin, pins
from tests.scenarios.stage import ENABLED, Controller, Stage, a, alone, eventually
from tests.support import build
from tests.support.build import FAIL, Object

from reroll.core.tables.kinds import KINDS, Kind, Revisions
from reroll_dev.api import ApiError, path_to

Start = Callable[..., Controller]
Values = dict[str, Any]
BY_NAME = {kind.name: kind for kind in KINDS}
DEPLOYMENT, STATEFULSET = BY_NAME["Deployment"], BY_NAME["StatefulSet"]
UNDOABLE = [kind for kind in KINDS if kind.revisions is not Revisions.NONE]


def reads_good(values: Values) -> bool:
    """Whether a pod that reads these values comes up."""
    return all(value and "bad" not in str(value) for value in values.values())


@contextmanager
def kubelet(stage: Stage, comes_up: Callable[[Values], bool] = reads_good) -> Iterator[None]:
    """Pods marked to fail come up after all, if what they read is good."""
    over, read = Event(), dict[str, Values]()

    def look() -> None:
        for pod in stage.api.list(path_to("Pod", "", stage.namespace)):
            if FAIL not in pod["metadata"].get("annotations", {}):
                continue
            uid = pod["metadata"]["uid"]
            # A container has what there was when it started.
            values = read.setdefault(uid, contents(stage, pod))
            if comes_up(values):
                path = path_to("Pod", pod["metadata"]["name"], stage.namespace)
                stage.api.patch(path, {"metadata": {"annotations": {FAIL: None}}})

    def run() -> None:
        while not over.wait(0.1):
            try:
                look()
            except ApiError as error:
                if error.status != 404:  # A pod that is gone by now.
                    raise

    thread = Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def keys(**annotations: str) -> dict[str, str]:
    return {f"reroll.dev/{key.replace('_', '-')}": text for key, text in annotations.items()}


def fragile(
    kind: Kind, name: str = "web", *, revisions: bool = True, spec: Any = None, **annotations: str
) -> Object:
    """One whose pods are as sick as what they read, and that is told so quickly."""
    asked = {"on_failure": "rollback", "deadline": "6s", **annotations}
    base = REVISIONS if revisions else ENABLED
    own = {"progressDeadlineSeconds": 3} if kind.name in {"Deployment", "Rollout"} else {}
    uses = asked.pop("uses", "configmap/app")
    return a(
        kind, name, uses=uses.split(), annotations=base | keys(**asked),
        fail="unready", spec={**own, **(spec or {})},
    )  # fmt: skip


class Play:
    """A workload that is healthy with the first content of its source."""

    def __init__(
        self, stage: Stage, start: Start, web: Object, *flags: str, source: str = "ConfigMap"
    ) -> None:
        self.stage, self.web = stage, web
        self.is_pinned = "reroll.dev/revisions" in web["metadata"]["annotations"]
        stage.make(web)
        self.one = alone(start, *flags)
        stage.adopted(web)
        name = "app" if source == "ConfigMap" else "db"
        self.good = pin(stage, web, source, name) if self.is_pinned else ""
        stage.settled(web)

    @property
    def trial(self) -> dict[str, Any]:
        return dict(self.stage.record(self.web).get("trial") or {})

    def change(self, value: str) -> None:
        self.stage.change("ConfigMap", "app", key=value)

    def until(self, what: str, **fields: Any) -> dict[str, Any]:
        """Wait until its trial says so; `True`: that it is said at all."""

        def holds() -> dict[str, Any] | None:
            trial = self.trial
            is_so = all(
                bool(trial.get(key)) if value is True else trial.get(key, "") == value
                for key, value in fields.items()
            )
            return trial if trial and is_so else None

        return eventually(holds, f"{self.web['metadata']['name']} {what}")

    def rolls(self) -> None:
        """Wait until it has rolled with another content than the good one."""
        eventually(lambda: self.pins not in {"", self.good}, "it rolls")

    def is_back(self, timeout: float = 90.0) -> None:
        """At the good content, healthy, and it stays there."""
        eventually(lambda: self.trial.get("b") == "healthy", "it is healthy again", timeout)
        self.stage.settled(self.web)
        assert self.pins == self.good
        self.stage.quiet(self.web)
        assert self.pins == self.good

    @property
    def pins(self) -> str:
        return pins(self.stage, self.web).get(("ConfigMap", "app"), "")

    def pods_read(self, value: str) -> None:
        """All its pods are ready, and have this."""

        def right() -> bool:
            found = self.stage.pods(self.web)
            read = [v for pod in found for v in contents(self.stage, pod).values()]
            return bool(found) and read == [{"key": value}] * len(found)

        eventually(right, f"all pods have {value}")


def app(value: str = "first", **more: Any) -> Object:
    return build.configmap("app", {"key": value}, **more)
