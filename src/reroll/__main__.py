"""`python -m reroll`, and the entry points of the console scripts."""

import gc
import sys

from reroll.cli.app import parser_for, run


def main() -> None:
    try:
        sys.exit(run(sys.argv[1:]))
    finally:
        gc.freeze()  # All goes with the process: to look for cycles in it takes a tenth of a run.


def complete_for_kubectl() -> None:
    """The console script kubectl_complete-reroll."""
    from reroll.cli.commands.completion import for_kubectl

    for_kubectl(parser_for, sys.argv[1:])


if __name__ == "__main__":
    main()
