"""Flags that commands share. Imports nothing that talks to a cluster."""

import argparse


def add_flags(
    parser: argparse.ArgumentParser, *, places: bool = True, everywhere: bool = True
) -> None:
    """Which cluster, as `kubectl` has it; with `places`, also which namespaces.

    A command that is about objects by name has no use for all of them: not `everywhere`.
    """
    group = parser.add_argument_group("cluster")
    group.add_argument("--kubeconfig", metavar="FILE", help="kubeconfig file (also $KUBECONFIG)")
    group.add_argument("--context", metavar="NAME", help="context of the kubeconfig")
    if places:
        where = group.add_mutually_exclusive_group()
        where.add_argument(
            "-n", "--namespace", metavar="NAME", help="one namespace (default: that of the context)"
        )
        if everywhere:
            where.add_argument(
                "-A", "--all-namespaces", action="store_true", help="all namespaces of the cluster"
            )
        else:
            parser.set_defaults(all_namespaces=False)


def add_controller_flags(parser: argparse.ArgumentParser) -> None:
    """Whose decisions these are."""
    group = parser.add_argument_group("controller")
    group.add_argument(
        "--controller-namespace",
        metavar="NAME",
        help="where the controller runs (also $REROLL_NAMESPACE; default: found by itself)",
    )
    group.add_argument(
        "--lease",
        metavar="NAME",
        help="the controller with this Lease, if its namespace has several (also $REROLL_LEASE)",
    )
    group.add_argument(
        "--config",
        metavar="FILE",
        help="settings to use instead of the controller's own (also $REROLL_CONFIG, and every "
        "$REROLL_… of `reroll run`)",
    )


def add_config_flag(parser: argparse.ArgumentParser) -> None:
    """For a command that decides nothing."""
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="the controller's config file, for the kinds that it adds (also $REROLL_CONFIG)",
    )


def add_dry_run_flag(parser: argparse.ArgumentParser, help_: str = "") -> None:
    parser.add_argument(
        "--dry-run", action="store_true", help=help_ or "write nothing; say what would happen"
    )


def add_selector_flag(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-l", "--selector", metavar="LABELS", help="only workloads with these labels"
    )
