"""Gathers the digest keys of an installation, and the records that need them."""

from typing import NamedTuple

from reroll.answers.errors import AnswerError
from reroll.answers.keys.keys import Ring, Usage, usage
from reroll.core.model.key import Key
from reroll.core.model.record import Record, read
from reroll.core.tables.annotations import STATE
from reroll.core.tables.catalog import Tables
from reroll.core.tables.kinds import Kind
from reroll.engine import keyring
from reroll.kube import api, resources
from reroll.kube.errors import Forbidden, Malformed, NotFound
from reroll.kube.objects import Stub
from reroll.kube.view import View


class KeysInUse(NamedTuple):
    ring: Ring
    usage: Usage


async def keys_in_use(view: View, secret: Key, tables: Tables) -> KeysInUse:
    """Raises if a record may be unread: a key must not go because of that."""
    ring = await _ring(view, secret)
    records = [each for kind in tables.kinds for each in await _records(view, kind)]
    if view.gaps:
        raise AnswerError(f"not all records can be seen: {'; '.join(dict.fromkeys(view.gaps))}")
    return KeysInUse(ring, usage(records, tables.sources))


async def _records(view: View, kind: Kind) -> list[tuple[Key, Record]]:
    records = []
    for stub in await view.every(resources.of(kind), Stub):
        record = read((stub.metadata.annotations or {}).get(STATE))
        if isinstance(record, Record):
            key = Key(kind.name, stub.metadata.namespace, stub.metadata.name)
            records.append((key, record))
    return records


async def _ring(view: View, where: Key) -> Ring:
    try:
        secret = await api.get(
            view.client, resources.SECRETS, where.namespace, where.name, keyring.KeySecret
        )
        _, keys = keyring.read(secret)
    except NotFound:
        raise AnswerError(
            f"{where} does not exist; the controller makes it when it starts, or is elsewhere: "
            "--controller-namespace"
        ) from None
    except Forbidden:
        raise AnswerError(f"{where} may not be read; grant `get` on it") from None
    except Malformed as error:
        raise AnswerError(str(error)) from None
    return Ring(keys.current, keys.known, secret.metadata.resource_version)
