"""`reroll demo --dashboard`: the dashboard beside the play, until somebody ends it."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from reroll_dev.cli.printing import say, title
from reroll_dev.cli.stage import Stage


def arguments(kubeconfig: str) -> tuple[str, ...]:
    return sys.executable, "-m", "reroll", "dashboard", "--kubeconfig", kubeconfig


@contextmanager
def dashboard(stage: Stage) -> Iterator[None]:
    """Open it before the play, so that the play can be watched; afterwards it stays."""
    title(
        "The dashboard opens in your browser, with the rights of an administrator of this cluster"
    )
    process = subprocess.Popen(arguments(str(stage.cluster.kubeconfig())))
    try:
        yield
        say("The dashboard stays open. Ctrl-C ends it, and the cluster.")
        with suppress(KeyboardInterrupt):
            process.wait()
    finally:
        process.terminate()
        process.wait(20)
