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
from reroll.kube.decode import decoded
from reroll.kube.errors import Malformed

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
        """The Job that is being replaced; `Malformed` if none is there, as for what follows."""
        name = self.manifest.metadata.name
        return Key(resources.JOBS.kind, self.metadata.namespace, name)

    @property
    def manifest(self) -> Manifest:
        """The Job as it shall be."""
        job = decoded(self.data.job, Manifest, "the Job in it")
        if not job.metadata.name:
            raise Malformed("the Job in it has no name")
        return job

    @property
    def document(self) -> dict[str, Any]:
        return decoded(self.data.job, dict[str, Any], "the Job in it")


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
            except Malformed:
                continue  # No Job can be made of it.
            job.metadata.namespace, job.metadata.uid = pending.metadata.namespace, pending.data.uid
            jobs[Key(resources.JOBS.kind, job.metadata.namespace, job.metadata.name)] = job
    return jobs
