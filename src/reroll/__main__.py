"""`python -m reroll`, and the entry point of both console scripts."""

import sys

from reroll.cli.app import run


def main() -> None:
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
