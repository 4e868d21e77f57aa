"""Read the sources that a stream refers to and does not have from the cluster."""

import argparse
import asyncio
import os

from reroll.cli.errors import CommandError, Exit
from reroll.core.model.content import Content
from reroll.core.model.key import Key
from reroll.core.tables.catalog import TABLES
from reroll.kube import resources, wire
from reroll.kube.auth import load
from reroll.kube.client import Client
from reroll.kube.errors import ApiError, ConfigError, NotFound
from reroll.manifests.model import Input
from reroll.manifests.options import Options
from reroll.manifests.read import read


def contents(args: argparse.Namespace, key: bytes | None, wanted: set[Key]) -> dict[Key, Content]:
    """What the cluster has of these; missing ones are left out, forbidden ones end the command.

    A source without a namespace is read from that of the context. `key` is the HMAC key for
    Secrets.
    """
    keys = sorted(wanted)
    if not keys:
        return {}
    try:
        return asyncio.run(_contents(args, keys, key))
    except ConfigError as error:
        raise CommandError(str(error), Exit.USAGE) from None
    except ApiError as error:
        raise CommandError(f"{error}; grant `get`, or render without --live") from None


async def _contents(
    args: argparse.Namespace, keys: list[Key], key: bytes | None
) -> dict[Key, Content]:
    connection = load(os.environ, kubeconfig=args.kubeconfig, context=args.context)
    home = connection.namespace or "default"
    async with Client(connection) as client:
        answers = await asyncio.gather(*(_content(client, each, home, key) for each in keys))
    return {each: content for each, content in zip(keys, answers, strict=True) if content}


async def _content(client: Client, wanted: Key, home: str, key: bytes | None) -> Content | None:
    row = TABLES.sources_by_name[wanted.kind]
    request = wire.get(resources.of(row), wanted.namespace or home, wanted.name)
    try:
        answer = await client.send(request)
    except NotFound:
        return None
    manifests = read([Input(str(wanted), answer)], Options(key=key))
    return next(iter(manifests.sources.values())).content
