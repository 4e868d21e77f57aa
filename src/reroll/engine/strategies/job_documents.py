"""Jobs as documents: one that a CronJob would start, and one as it was before it ran. Pure."""

import hashlib
from typing import Any

from reroll.core.model.metadata import Manifest
from reroll.core.observe.snapshot import Change
from reroll.core.observe.workload import Workload, has_ended
from reroll.core.tables.annotations import DELETING
from reroll.kube.objects import is_owned_by


def name_of_run(cron: Workload, changes: tuple[Change, ...]) -> str:
    """A name for the Job of one roll, the same in every attempt at it.

    It holds the record that the roll replaces, which tells one roll from the next even if numbers
    begin again, and the versions of what changed since. Every installation that manages the
    CronJob comes to the same name.
    """
    versions = sorted(f"{change.entry}@{change.changed.by}" for change in changes)
    text = "\n".join((cron.uid, cron.record_text or "", *versions))
    return f"{cron.key.name[:52]}-{hashlib.sha256(text.encode()).hexdigest()[:10]}"


def forbids_two(cron: dict[str, Any]) -> bool:
    """Whether a CronJob lets no Job start while another one runs."""
    return bool(cron["spec"].get("concurrencyPolicy") == "Forbid")


def running(cron: str, job: Manifest) -> str | None:
    """The name of a Job of this CronJob, by its uid, if it has not ended."""
    is_own = is_owned_by(job.metadata, cron)
    return job.metadata.name if is_own and not has_ended(job) else None


def job_of(cron: dict[str, Any], name: str) -> dict[str, Any]:
    """What `kubectl create job --from` makes of a CronJob."""
    template = cron["spec"]["jobTemplate"]
    meta = template.get("metadata", {})
    manual = {"cronjob.kubernetes.io/instantiate": "manual"}
    owner = {
        "apiVersion": cron["apiVersion"],
        "kind": cron["kind"],
        "name": cron["metadata"]["name"],
        "uid": cron["metadata"]["uid"],
        "controller": True,
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "labels": meta.get("labels", {}),
            "annotations": {**meta.get("annotations", {}), **manual},
            "ownerReferences": [owner],
        },
        "spec": template["spec"],
    }


_JOB_LABELS = frozenset(
    {
        "controller-uid",
        "job-name",
        "batch.kubernetes.io/controller-uid",
        "batch.kubernetes.io/job-name",
    }
)


def fresh_job(job: dict[str, Any]) -> dict[str, Any]:
    """The Job as somebody would create it: without what was filled in since."""
    metadata = job["metadata"]
    spec = dict(job["spec"])
    if not spec.get("manualSelector"):
        spec.pop("selector", None)
        template = dict(spec["template"])
        meta = dict(template.get("metadata", {}))
        meta["labels"] = _own_labels(meta)
        template["metadata"] = meta
        spec["template"] = template
    kept = {k: metadata[k] for k in ("name", "ownerReferences") if k in metadata}
    annotations = {k: v for k, v in (metadata.get("annotations") or {}).items() if k != DELETING}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {**kept, "annotations": annotations, "labels": _own_labels(metadata)},
        "spec": spec,
    }


def _own_labels(metadata: dict[str, Any]) -> dict[str, str]:
    labels: dict[str, str] = metadata.get("labels") or {}
    return {key: value for key, value in labels.items() if key not in _JOB_LABELS}
