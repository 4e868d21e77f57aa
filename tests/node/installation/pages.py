"""A web server whose pages are a ConfigMap: what an installation is there for."""

import threading
from types import TracebackType
from typing import Any, Self

from tests.node.serving import ServingStage, serving
from tests.scenarios.stage import eventually
from tests.support import build

PAGES = "/etc/configmap/app"
PAUSE = 2.0
"""Seconds between two changes: more than a debounce, less than a rollout."""


def web(name: str = "web", drain: str = "0s", **more: Any) -> build.Object:
    """A Deployment that reads the ConfigMap `app` when it starts."""
    settings = serving(WEB_ROOT=PAGES, WEB_DRAIN=drain)
    return build.deployment(name, mounts="configmap/app", **settings, **more)


def page(text: str) -> build.Object:
    return build.configmap("app", {"index.html": text})


def rolls(stage: ServingStage, one: build.Object, text: str) -> None:
    """Change the page, and wait until all visitors see it."""
    stage.change("ConfigMap", "app", **{"index.html": text})
    stage.all_answer(one, "/", text)
    stage.settled(one)


class Editor:
    """Changes the page again and again while it is open."""

    def __init__(self, stage: ServingStage) -> None:
        self._stage = stage
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.versions: list[int] = []

    def __enter__(self) -> Self:
        self._thread.start()
        self.goes_on()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if problem is None:
            self.goes_on()
        self._ended.set()
        self._thread.join()

    @property
    def text(self) -> str:
        """The page as it is now."""
        return f"edition {len(self.versions)}"

    def goes_on(self) -> None:
        """Wait for two more changes."""
        enough = len(self.versions) + 2
        eventually(lambda: len(self.versions) >= enough, "two more changes")

    def _run(self) -> None:
        while not self._ended.wait(PAUSE):
            text = f"edition {len(self.versions) + 1}"
            made = self._stage.change("ConfigMap", "app", **{"index.html": text})
            self.versions.append(int(made["metadata"]["resourceVersion"]))
