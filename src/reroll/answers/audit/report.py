"""Findings about pods, taken together by the workload that the pods belong to. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

import msgspec

from reroll.core.model.key import Key
from reroll.core.observe.staleness import Finding, Verdict
from reroll.x509 import Certificate

Certificates = Mapping[Key, tuple[Certificate, ...]]
"""By the Secret that they are in."""
SHOWN = (Verdict.STALE, Verdict.MISSING, Verdict.UNKNOWN)
"""What people are told without asking, the most important first."""


class Audited(msgspec.Struct, frozen=True, gc=False):
    """One pod."""

    pod: Key
    workload: Key
    """What makes it; itself, if nothing does."""
    findings: tuple[Finding, ...]
    runs: bool = True
    """One of its containers runs now."""

    def has(self, verdict: Verdict) -> bool:
        return any(finding.verdict is verdict for finding in self.findings)


class AuditRow(msgspec.Struct, frozen=True, gc=False):
    """What the pods of one workload have in common about one source."""

    of: Key
    """The workload, or the pod."""
    pods: tuple[str, ...]
    source: Key
    verdict: Verdict
    hows: tuple[str, ...]
    changed: datetime | None
    by: str
    certain: bool
    why: str


def rows(audited: Iterable[Audited], *, each_pod: bool = False) -> list[AuditRow]:
    """By verdict, workload and source; with `each_pod`, every pod on its own."""
    groups: dict[tuple[int, Key, Key], list[tuple[Finding, Key]]] = {}
    for one in audited:
        who = one.pod if each_pod else one.workload
        for finding in one.findings:
            if finding.verdict in SHOWN:
                group = SHOWN.index(finding.verdict), who, finding.source
                groups.setdefault(group, []).append((finding, one.pod))
    return [_row(group[1], groups[group]) for group in sorted(groups)]


def _row(of: Key, found: list[tuple[Finding, Key]]) -> AuditRow:
    findings = [finding for finding, _ in found]
    last = max(findings, key=lambda one: (one.changed is not None, one.changed or one.started))
    return AuditRow(
        of=of,
        pods=tuple(dict.fromkeys(pod.name for _, pod in found)),
        source=last.source,
        verdict=last.verdict,
        hows=tuple(dict.fromkeys(finding.use.how for finding in findings)),
        changed=last.changed,
        by=last.by,
        certain=any(finding.certain for finding in findings),
        why=last.why,
    )


def with_certificates(one: Audited, certificates: Certificates) -> Audited:
    """A certificate that began after a container started proves that the container is stale."""
    return msgspec.structs.replace(
        one, findings=tuple(_proved(finding, certificates) for finding in one.findings)
    )


def _proved(finding: Finding, certificates: Certificates) -> Finding:
    used = used_certificates(finding, certificates)
    if finding.verdict is Verdict.STALE and any(one.begins > finding.started for one in used):
        return msgspec.structs.replace(finding, certain=True, why="")
    return finding


def used_certificates(finding: Finding, certificates: Certificates) -> Iterator[Certificate]:
    """The certificates among what a container uses of a Secret."""
    keys = finding.use.keys
    there = certificates.get(finding.source, ())
    return (one for one in there if keys is None or one.key in keys)


def pod_facts(audited: Audited, certificates: Certificates) -> dict[str, Any]:
    """For programs."""
    return {
        "namespace": audited.pod.namespace,
        "name": audited.pod.name,
        "workload": audited.workload,
        "running": audited.runs,
        "stale": audited.has(Verdict.STALE),
        "uses": [_use_facts(finding, certificates) for finding in audited.findings],
    }


def _use_facts(finding: Finding, certificates: Certificates) -> dict[str, Any]:
    facts = {
        "source": finding.source,
        "how": finding.use.how,
        "container": finding.use.container,
        "keys": finding.use.keys,
        "optional": finding.use.optional,
        "verdict": finding.verdict.value,
        "certain": finding.certain,
        "started": finding.started,
        "changed": finding.changed,
        "changedBy": finding.by,
        "why": finding.why,
    }
    used = [each._asdict() for each in used_certificates(finding, certificates)]
    return {**facts, "certificates": used} if used else facts
