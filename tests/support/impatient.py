"""`python -m tests.support.impatient run …`: `reroll`, to which two seconds are a long wait."""

import sys

from reroll.engine.strategies import jobs, pods

IMPATIENT = ("-m", "tests.support.impatient")

if __name__ == "__main__":
    jobs.PATIENCE = pods.PATIENCE = 2.0

    from reroll.cli.app import run

    sys.exit(run(sys.argv[1:]))
