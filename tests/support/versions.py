"""`make test-versions`: the core of the tests on several versions of Kubernetes, one after another.

`python -m tests.support.versions oldest newest -- -x`: each as it comes; with `all`, every version
as it comes and with its switches the other way round. What follows `--` is for pytest.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence

from tests.support.minors import GROUNDS, VARIABLE, Ground

from reroll_dev import kubernetes

WATCHING = (
    "tests/kube/test_watch.py",
    "tests/kube/test_watch_faults.py",
    "tests/scenarios/test_versions.py",
    "tests/scenarios/test_rolls.py",
    "tests/scenarios/test_level.py",
    "tests/scenarios/test_while_down.py",
    "tests/scenarios/test_faults.py",
    "tests/scenarios/test_ha.py",
)
"""What depends on how a watch begins."""
PINNING = (
    "tests/scenarios/test_pins.py",
    "tests/scenarios/test_pins_webhook.py",
    "tests/scenarios/test_revisions.py",
    "tests/scenarios/test_revisions_undo.py",
    "tests/chart/test_install.py",
)
"""What depends on who rewrites pods."""
CORE = (
    *WATCHING,
    *PINNING,
    "tests/scenarios/test_approvals.py",
    "tests/scenarios/test_doctor.py",
    "tests/scenarios/test_evictions.py",
    "tests/scenarios/test_injection.py",
    "tests/scenarios/test_injection_conflicts.py",
    "tests/scenarios/test_jobs.py",
    "tests/scenarios/test_least_privilege.py",
    "tests/scenarios/test_propagation.py",
    "tests/scenarios/test_propagation_rollback.py",
    "tests/scenarios/test_restart.py",
    "tests/scenarios/test_sync.py",
    "tests/scenarios/test_undo.py",
)


def files(ground: Ground) -> tuple[str, ...]:
    """Switches change nothing of what the others are about."""
    return (*WATCHING, *PINNING) if ground.is_switched else CORE


def chosen(words: Iterable[str]) -> list[Ground]:
    """What the words name, each once, the oldest first."""
    ends = {"oldest": kubernetes.OLDEST.name, "newest": kubernetes.NEWEST.name}
    names = {ends.get(word, word) for word in words}
    known = {ground.name for ground in GROUNDS}
    if unknown := sorted(names - known - {"all"}):
        there = ", ".join([*(ground.name for ground in GROUNDS), *ends, "all"])
        raise SystemExit(f"test-versions: there is no {', '.join(unknown)}; there is {there}")
    return [ground for ground in GROUNDS if ground.name in names or "all" in names]


def run(ground: Ground, arguments: Sequence[str]) -> str:
    """Build what is missing, and test; how it went."""
    build = ("reroll", "dev", "build", "--kubernetes", ground.minor.name)
    if subprocess.run(build, check=False).returncode != 0:
        return "did NOT run: it is not built"
    test = ("pytest", "--dist", "worksteal", *arguments, *files(ground))
    code = subprocess.run(test, env={**os.environ, VARIABLE: ground.name}, check=False).returncode
    return "passed" if code == 0 else f"FAILED, exit code {code}"


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(given: Sequence[str]) -> int:
    cut = given.index("--") if "--" in given else len(given)
    results: dict[Ground, str] = {}
    for ground in chosen(given[:cut]):
        began = time.monotonic()
        say(f"== {ground}")
        result = run(ground, given[cut + 1 :])
        results[ground] = f"{result} in {time.monotonic() - began:.0f} s"
    for ground, result in results.items():
        say(f"{ground.name:<14} {result:<24} {ground}")
    return 0 if all(result.startswith("passed") for result in results.values()) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
