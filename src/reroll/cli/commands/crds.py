"""`reroll crds`: the CustomResourceDefinitions, to apply or to put into Git."""

import argparse

import msgspec
import yaml

from reroll.cli.errors import Exit
from reroll.cli.output import print_json
from reroll.features.injection.crd import manifest

HEADER = "# Printed by `reroll crds`; apply it with `kubectl apply --server-side -f`.\n"
DESCRIPTION = """\
Print the CustomResourceDefinition of Injections. Apply it once in a cluster, before you start the
controller with --injections, and again after an upgrade.

  reroll crds | kubectl apply --server-side -f -
  reroll crds -o json"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o", "--output", choices=("yaml", "json"), default="yaml", help="(default: yaml)"
    )


def run(args: argparse.Namespace) -> int:
    if args.output == "json":
        print_json(manifest())
    else:
        print(page(), end="")
    return Exit.OK


def page() -> str:
    """What deploy/crds holds."""
    # Copied, so that a part that is used twice is written twice instead of as an alias.
    copied = msgspec.json.decode(msgspec.json.encode(manifest()))
    return HEADER + yaml.safe_dump(copied, sort_keys=False, width=100)
