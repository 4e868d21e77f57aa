"""Which cluster, on the command line. Imports nothing that talks to one."""

import argparse


def add_flags(parser: argparse.ArgumentParser, *, places: bool = True) -> None:
    """Which cluster, as `kubectl` has it; with `places`, also which namespaces."""
    group = parser.add_argument_group("cluster")
    group.add_argument("--kubeconfig", metavar="FILE", help="kubeconfig file (also $KUBECONFIG)")
    group.add_argument("--context", metavar="NAME", help="context of the kubeconfig")
    if places:
        where = group.add_mutually_exclusive_group()
        where.add_argument(
            "-n", "--namespace", metavar="NAME", help="one namespace (default: that of the context)"
        )
        where.add_argument(
            "-A", "--all-namespaces", action="store_true", help="all namespaces of the cluster"
        )
