#!/usr/bin/env python3
"""`kubectl reroll`, as krew installs it: the program and its packages are in `lib` beside this.

Packages with compiled parts are there for the versions of Python in PYTHONS and no others.
"""

import os
import sys

PYTHONS = ((3, 11),)


def main() -> None:
    place = os.path.dirname(os.path.realpath(__file__))
    if sys.version_info[:2] not in PYTHONS:
        start_another()
    sys.path.insert(0, os.path.join(place, "lib"))
    from reroll.__main__ import main as reroll

    reroll()


def start_another() -> None:
    """Go on with a Python that fits, the newest first; PATH knows them by their versions."""
    for major, minor in reversed(PYTHONS):
        try:
            os.execvp(f"python{major}.{minor}", [f"python{major}.{minor}", *sys.argv])
        except OSError:
            continue
    versions = ", ".join(f"{major}.{minor}" for major, minor in PYTHONS)
    sys.exit(f"kubectl-reroll: needs Python {versions} on the PATH; install one of them")


if __name__ == "__main__":
    main()
