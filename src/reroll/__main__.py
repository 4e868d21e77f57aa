"""`python -m reroll`, and the entry points of the console scripts."""

import sys

from reroll.cli.app import parser_for, run


def main() -> None:
    sys.exit(run(sys.argv[1:]))


def complete_for_kubectl() -> None:
    """The console script kubectl_complete-reroll."""
    from reroll.cli.commands.completion import for_kubectl

    for_kubectl(parser_for, sys.argv[1:])


if __name__ == "__main__":
    main()
