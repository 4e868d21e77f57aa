"""What commands that look at a cluster share: kubeconfig flags, a client, and typed lists.

What may not be read is no reason to end: it becomes a gap, a sentence that the command shows beside
what it could see. An API server that cannot be reached at all ends the command.
"""

import argparse
import asyncio
import os
from collections.abc import Awaitable, Callable

from reroll.cli.errors import CommandError, Exit
from reroll.kube import wire
from reroll.kube.auth import load
from reroll.kube.client import Client
from reroll.kube.errors import ApiError, ConfigError, Unauthorized
from reroll.kube.view import View

resource = wire.resource_of


def look(args: argparse.Namespace, action: Callable[[View], Awaitable[int]]) -> int:
    """Do `action` with the cluster that the flags of `add_flags` name."""
    try:
        return asyncio.run(_look(args, action))
    except ConfigError as error:
        raise CommandError(str(error), Exit.USAGE) from None
    except Unauthorized as error:
        raise CommandError(
            f"the API server does not accept these credentials ({error}); log in again, or choose "
            "another context with --context"
        ) from None
    except ApiError as error:
        raise CommandError(str(error)) from None


async def _look(args: argparse.Namespace, action: Callable[[View], Awaitable[int]]) -> int:
    connection = load(os.environ, kubeconfig=args.kubeconfig, context=args.context)
    home = connection.namespace or "default"
    everywhere = getattr(args, "all_namespaces", False)
    namespace = None if everywhere else getattr(args, "namespace", None) or home
    async with Client(connection) as client:
        return await action(View(client, namespace, home))
