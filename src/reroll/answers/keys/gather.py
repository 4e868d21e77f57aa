"""Gathers the digest keys of an installation, and the records that need them."""

from collections.abc import Iterator
from typing import NamedTuple

from reroll.answers.errors import AnswerError
from reroll.answers.keys.keys import Ring, Usage, usage
from reroll.clock import Clock
from reroll.core.model.key import Key
from reroll.core.model.record import Record, read
from reroll.core.tables.annotations import STATE
from reroll.engine import keyring
from reroll.engine.listing import Listed, Listing
from reroll.kube import api, resources
from reroll.kube.errors import Forbidden, Malformed, NotFound
from reroll.kube.objects import DataObject
from reroll.kube.view import View
from reroll.settings.table import Settings


class KeysInUse(NamedTuple):
    ring: Ring
    usage: Usage
    """Of the records that the controller keeps up to date."""
    others: Usage
    """Of the records of workloads that are not managed: nothing is lost with their keys, and any
    user of a namespace can write one."""


async def keys_in_use(view: View, clock: Clock, settings: Settings, secret: Key) -> KeysInUse:
    """Raises if a record may be unread: a key must not go because of that."""
    ring = await _ring(view, secret)
    listed = await Listing(view, clock, settings, secret.namespace).everything()
    if view.gaps:
        raise AnswerError(f"not all records can be seen: {'; '.join(dict.fromkeys(view.gaps))}")
    sources = settings.tables.sources
    managed = [each for each in listed if each.policy.enabled]
    others = [each for each in listed if not each.policy.enabled]
    return KeysInUse(ring, usage(_records(managed), sources), usage(_records(others), sources))


def _records(listed: list[Listed]) -> Iterator[tuple[Key, Record]]:
    for each in listed:
        record = read((each.manifest.metadata.annotations or {}).get(STATE))
        if isinstance(record, Record):
            yield each.key, record


async def _ring(view: View, where: Key) -> Ring:
    try:
        secret = await api.get(
            view.client, resources.SECRETS, where.namespace, where.name, DataObject
        )
        _, keys = keyring.read(secret)
    except NotFound:
        raise AnswerError(
            f"{where} does not exist; the controller creates it when it starts; if that runs "
            "elsewhere, say where with --controller-namespace"
        ) from None
    except Forbidden:
        raise AnswerError(f"{where} may not be read; grant `get` on it") from None
    except Malformed as error:
        raise AnswerError(str(error)) from None
    return Ring(keys.current, keys.known, secret.metadata.resource_version)
