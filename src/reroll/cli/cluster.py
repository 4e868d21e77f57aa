"""The cluster of a command, for commands that have no `Context` of their own."""

import argparse
from collections.abc import Awaitable, Callable

from reroll.cli.command import Context
from reroll.kube import wire
from reroll.kube.view import View

resource = wire.resource_of


def look(args: argparse.Namespace, action: Callable[[View], Awaitable[int]]) -> int:
    """Do `action` with the cluster that the flags of `add_flags` name."""
    return Context(args).run(action)
