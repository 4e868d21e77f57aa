"""Jobs that are written down because they are being made anew, see `reroll.engine.strategies.jobs`.

Whoever was stopped half way left them so, and perhaps without the Job itself.
"""

import msgspec

from reroll.core.model.key import Key
from reroll.core.model.metadata import Manifest, Metadata
from reroll.core.model.podspec import given
from reroll.engine.strategies.jobs import JOBS, KEPT, KEPT_JOB
from reroll.kube import wire
from reroll.kube.client import Client


class _Data(msgspec.Struct, gc=False):
    uid: str
    """Of the Job that it was."""
    job: Manifest


class _Kept(msgspec.Struct, gc=False):
    metadata: Metadata
    data: _Data


class _List(msgspec.Struct, gc=False):
    items: list[msgspec.Raw] | None = None


_list = msgspec.json.Decoder(_List)
_kept = msgspec.json.Decoder(_Kept)


async def find(client: Client, namespace: str | None) -> dict[Key, Manifest]:
    """The Jobs as they shall be, with the uid that they had."""
    request = wire.list_page(KEPT, namespace, limit=0, label_selector=KEPT_JOB)
    found = {}
    for item in given(_list.decode(await client.send(request)).items):
        try:
            one = _kept.decode(item)
        except msgspec.DecodeError:
            continue  # Nobody can make a Job of it.
        job, place = one.data.job, one.metadata.namespace
        job.metadata.namespace, job.metadata.uid = place, one.data.uid
        found[Key(JOBS.kind, place, job.metadata.name)] = job
    return found
