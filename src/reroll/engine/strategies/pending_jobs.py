"""Jobs that are being replaced, each written down in a ControllerRevision until that is done.

A process that is stopped half way leaves them so, perhaps without the Job itself.
"""

from typing import Any

import msgspec

from reroll.core.model.key import Key
from reroll.core.model.metadata import Manifest, Metadata
from reroll.core.tables.annotations import DELETING, DOMAIN
from reroll.kube import api, resources
from reroll.kube.client import Client
from reroll.kube.decode import decoded
from reroll.kube.errors import Malformed
from reroll.kube.objects import Stub

PENDING_JOB = DOMAIN + "kept-job"
"""The label of such a ControllerRevision."""


class _Data(msgspec.Struct, gc=False):
    uid: str
    """Of the Job that it was."""
    job: msgspec.Raw
    marks: bool = False
    """Whether the Job gets the annotation `DELETING` first; earlier releases wrote none."""


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

    def mark(self, job: Metadata) -> dict[str, Any]:
        """A merge patch for the Job as it was seen: what becomes of it is a deletion of ours."""
        mark = {DELETING: self.metadata.uid}
        return {"metadata": {"resourceVersion": job.resource_version, "annotations": mark}}

    def has_marked(self, job: Metadata) -> bool:
        return (job.annotations or {}).get(DELETING) == self.metadata.uid

    def is_not_deleted_by_us(self, job: Metadata) -> bool:
        """Whether it is leaving, and no process of ours asked for that."""
        is_leaving = job.uid == self.data.uid and job.deletion_timestamp is not None
        return is_leaving and self.data.marks and not self.has_marked(job)

    def before(self, pod: Stub) -> bool | None:
        """Whether the pod was there before; one that is newer may have missed the deletion."""
        ours, its = self.metadata.creation_timestamp, pod.metadata.creation_timestamp
        return (ours is not None and its is not None and its < ours) or None


def written_down(job: Key) -> Key:
    """The ControllerRevision of a Job that is being replaced."""
    return Key(resources.CONTROLLER_REVISIONS.kind, job.namespace, f"{job.name[:240]}-reroll-job")


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
            key = Key(resources.JOBS.kind, job.metadata.namespace, job.metadata.name)
            if written_down(key).name == pending.metadata.name:
                jobs[key] = job
    return jobs
