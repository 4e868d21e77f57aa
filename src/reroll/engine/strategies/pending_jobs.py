"""Jobs that are being replaced, each written down in a ControllerRevision until that is done.

A process that is stopped half way leaves them so, perhaps without the Job itself.
"""

from typing import Any

import msgspec

from reroll.core.model.key import Key
from reroll.core.model.metadata import Manifest, Metadata
from reroll.core.tables.annotations import DOMAIN
from reroll.kube import api, resources
from reroll.kube.client import Client

PENDING_JOB = DOMAIN + "kept-job"
"""The label of such a ControllerRevision."""


class _Data(msgspec.Struct, gc=False):
    uid: str
    """Of the Job that it was."""
    job: msgspec.Raw


class PendingJob(msgspec.Struct, gc=False):
    metadata: Metadata
    data: _Data

    @property
    def key(self) -> Key:
        """The Job that is being replaced."""
        name = self.manifest.metadata.name
        return Key(resources.JOBS.kind, self.metadata.namespace, name)

    @property
    def manifest(self) -> Manifest:
        """The Job as it shall be."""
        return msgspec.json.decode(self.data.job, type=Manifest)

    @property
    def document(self) -> dict[str, Any]:
        document: dict[str, Any] = msgspec.json.decode(self.data.job)
        return document


async def find(client: Client, namespace: str | None) -> dict[Key, Manifest]:
    """The Jobs as they shall be, with the uid that they had."""
    jobs = {}
    pages = api.pages(
        client, resources.CONTROLLER_REVISIONS, namespace, PendingJob, label_selector=PENDING_JOB
    )
    async for page in pages:
        for pending in page.items:
            try:
                job = pending.manifest
            except msgspec.DecodeError:
                continue  # No Job can be made of it.
            job.metadata.namespace, job.metadata.uid = pending.metadata.namespace, pending.data.uid
            jobs[pending.key] = job
    return jobs
