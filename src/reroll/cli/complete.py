"""Names for the Tab key: of kinds, workloads, sources, namespaces and contexts.

Asked of the cluster with little patience. A shell that completes must not say why it cannot: what
goes wrong is silence, and no names.
"""

import argparse
import asyncio
import os
from collections.abc import Sequence

from reroll.cli.command import Context
from reroll.cli.errors import CommandError
from reroll.cli.targets import is_called
from reroll.core.tables.kinds import KINDS, Kind
from reroll.core.tables.source_kinds import CONFIGS, SourceKind
from reroll.kube import resources, wire
from reroll.kube.auth import contexts as all_contexts
from reroll.kube.auth import load
from reroll.kube.client import Client
from reroll.kube.decode import Decoder
from reroll.kube.errors import ConfigError
from reroll.kube.objects import Stub

PATIENCE = "REROLL_COMPLETION_TIMEOUT"
"""Seconds after which the names are not worth waiting for; three if it is not set."""
MOST = 500


def contexts(_: str, args: argparse.Namespace) -> list[str]:
    try:
        return all_contexts(os.environ, kubeconfig=getattr(args, "kubeconfig", None))
    except ConfigError:
        return []


def namespaces(_: str, args: argparse.Namespace) -> list[str]:
    return _ask(args, resources.NAMESPACES)


def workloads(prefix: str, args: argparse.Namespace) -> list[str]:
    command = getattr(args, "command", "")
    if command in {"hold", "release"} and prefix.startswith(NAMESPACE):
        return [f"{NAMESPACE}{name}" for name in _ask(args, resources.NAMESPACES)]
    found = _objects(prefix, args, _kinds(args))
    return found if "/" in prefix else [*found, *_WORDS.get(command, ())]


NAMESPACE = "namespace/"
_WORDS = {"hold": (NAMESPACE,), "release": (NAMESPACE,), "revisions": ("use",)}
"""What can stand where a workload does."""


def sources(prefix: str, args: argparse.Namespace) -> list[str]:
    return _objects(prefix, args, CONFIGS)


def either(prefix: str, args: argparse.Namespace) -> list[str]:
    return _objects(prefix, args, (*_kinds(args), *CONFIGS))


def _kinds(args: argparse.Namespace) -> tuple[Kind, ...]:
    """With those of the config file, if there is one that can be read."""
    try:
        return Context(args).tables.kinds
    except (CommandError, AttributeError, TypeError):
        return KINDS


def _objects(prefix: str, args: argparse.Namespace, rows: Sequence[Kind | SourceKind]) -> list[str]:
    """`deployment/` while the kind is written; then the names of that kind."""
    word, slash, _ = prefix.partition("/")
    if not slash:
        return [f"{row.name.lower()}/" for row in rows]
    named = [row for row in rows if is_called(row, word)]
    return [f"{word}/{name}" for row in named for name in _ask(args, resources.of(row))]


def _ask(args: argparse.Namespace, resource: wire.Resource) -> list[str]:
    try:
        patience = float(os.environ.get(PATIENCE, "3"))
        return asyncio.run(asyncio.wait_for(_names(args, resource), patience))
    except Exception:  # noqa: BLE001  silence is all that a completion can say
        return []


async def _names(args: argparse.Namespace, resource: wire.Resource) -> list[str]:
    connection = load(
        os.environ,
        kubeconfig=getattr(args, "kubeconfig", None),
        context=getattr(args, "context", None),
    )
    namespace = getattr(args, "namespace", None) or connection.namespace or "default"
    request = wire.list_page(
        resource, namespace if resource.namespaced else None, limit=MOST, metadata_only=True
    )
    async with Client(connection) as client:
        page = Decoder(Stub).page(await client.send(request))
    return [one.metadata.name for one in page.items]
