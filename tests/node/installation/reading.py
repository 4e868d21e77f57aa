"""A reader who follows a page: runs its commands in a shell, and compares what they print."""

import re
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.node.installation.installed import PATIENCE
from tests.scenarios.stage import eventually
from tests.support.pages import Step

from reroll.core.tables.annotations import DOMAIN, STATE
from reroll_dev.api import Api, Object, path_to

LOOKS = ("kubectl exec", "reroll status", "reroll explain", "reroll audit", "reroll graph",
         "reroll history", "reroll revisions deployment", "reroll plan")  # fmt: skip
"""How commands begin that only look: a reader looks again, until a rollout is done."""
CODES = {"reroll plan": 3}
"""Exit codes that the pages tell of."""
_NAMES = re.compile(r"\bweb-[a-z0-9]{6,10}(-[a-z0-9]{5})?")
_AGES = re.compile(r"\b\d+[smhd]\b( ago)?")


def plain(text: str) -> list[list[str]]:
    """Words by line; ages and names of pods are not the same twice.

    Who had its turn when a change was stopped depends on the moment.
    """
    if found := re.search(r"\S+ stopped:", text):
        return [found[0].split()]
    return [line.split() for line in _AGES.sub("#", _NAMES.sub("web-#", text)).splitlines()]


class Reader:
    """`folder` is a clone of the repository with the files of the page."""

    def __init__(self, folder: Path, api: Api) -> None:
        self.folder, self._api = folder, api
        self.said: list[str] = []
        """The commands so far."""

    def run(self, command: str) -> str:
        """What it prints; it has to succeed."""
        self.said.append(command)
        code, out, err = self._done(command)
        wanted = next((n for begin, n in CODES.items() if command.startswith(begin)), 0)
        assert code == wanted, f"{command}\n{out}\n{err}"
        return out

    def _done(self, command: str) -> tuple[int, str, str]:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            capture_output=True, text=True, check=False, cwd=self.folder, timeout=PATIENCE,
        )  # fmt: skip
        return done.returncode, done.stdout, done.stderr

    def follow(self, step: Step, *, is_said: bool = True) -> None:
        """Run it; `is_said`: what it prints is on the page."""
        if is_said and step.output and step.command.startswith(LOOKS):
            eventually(self._prints(step), f"`{step.command}` prints what the page says", PATIENCE)
            return
        if step.command.startswith("kubectl patch"):  # A reader is slower: seconds are whole.
            begun = datetime.now(UTC)
            eventually(lambda: datetime.now(UTC) > begun + timedelta(seconds=1), "a second later")
        printed = self.run(step.command)
        said = not step.output or not is_said or plain(printed) == plain(step.output)
        assert said, f"{step.command}\n{printed}"

    def _prints(self, step: Step) -> Callable[[], bool]:
        return lambda: plain(self._done(step.command)[1]) == plain(step.output)

    def settled(self, namespace: str) -> None:
        """Wait as a reader does: until all is rolled out, and what is opted in is recorded."""
        place, pods = path_to("Deployment", "", namespace), path_to("Pod", "", namespace)

        def is_quiet() -> bool:
            there = self._api.list(place)
            above = self._api.get(path_to("Namespace", namespace))["metadata"]
            if not all(_is_recorded(one, above.get("annotations", {})) for one in there):
                return False
            wanted = sum(one["spec"]["replicas"] for one in there)
            return all(map(_is_rolled_out, there)) and len(self._api.list(pods)) == wanted

        eventually(is_quiet, f"all is rolled out in {namespace}", PATIENCE)


def _is_rolled_out(one: Object) -> bool:
    status, wanted = one.get("status", {}), one["spec"]["replicas"]
    names = ("replicas", "updatedReplicas", "availableReplicas")
    is_seen = status.get("observedGeneration") == one["metadata"]["generation"]
    return is_seen and [status.get(name, 0) for name in names] == [wanted] * 3


def _is_recorded(one: Object, above: dict[str, str]) -> bool:
    """Whether it has the record that it is to have, and its template the pins."""
    said = {**above, **one["metadata"].get("annotations", {})}
    template = one["spec"]["template"]["metadata"].get("annotations", {})
    is_recorded = STATE in said or said.get(f"{DOMAIN}enabled") != "true"
    return is_recorded and (f"{DOMAIN}pins" in template or said.get(f"{DOMAIN}revisions") != "true")
