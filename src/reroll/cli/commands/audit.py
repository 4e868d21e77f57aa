"""`reroll audit`: which running pods have stale configuration now."""

import argparse
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from reroll.answers.audit.gather import Audit, audit
from reroll.answers.audit.records import with_records
from reroll.answers.audit.report import Audited, AuditRow, Certificates, rows, used_certificates
from reroll.answers.namespaces import namespaces
from reroll.cli.command import Context
from reroll.cli.errors import Exit
from reroll.cli.flags import add_controller_flags, add_flags
from reroll.cli.output import add_output_flag, warn
from reroll.cli.show import Table, show
from reroll.cli.times import ago, moment
from reroll.core.model.key import Key
from reroll.core.observe.staleness import Finding, Verdict
from reroll.kube.view import View
from reroll.x509 import Certificate

DESCRIPTION = """\
Tell which running pods have stale configuration: a ConfigMap or Secret that they use in their
environment or by subPath was written after the container started. The times are those that the
API server keeps (managedFields), so this works in a cluster that never saw Reroll. Where Reroll
rolled a workload, and its record proves that what its pods use is unchanged, they are not stale. It
reads only, and of Secrets only the metadata, unless a record has them or --certificates is given.

  reroll audit -A
  reroll audit -n shop -l app=web --pods
  reroll audit -A --fail-on stale         ends with 3 if a pod is stale, for CI
  reroll audit -A --certificates          whose certificates the pods have in an older version"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    parser.add_argument("-l", "--selector", help="only pods with these labels")
    parser.add_argument(
        "--mounts",
        choices=("live", "frozen"),
        default="live",
        help="`frozen`: plain mounts count too, for applications that read them once "
        "(default: live)",
    )
    parser.add_argument(
        "--certificates",
        action="store_true",
        help="read the certificates in the Secrets that pods use: subject and end, never a key",
    )
    parser.add_argument(
        "--fail-on",
        choices=("stale", "certain"),
        help="end with 3 if a pod is stale, or only if that is certain",
    )
    parser.add_argument("--pods", action="store_true", help="a line for each pod")
    add_output_flag(parser)
    add_controller_flags(parser)
    add_flags(parser)


def run(args: argparse.Namespace) -> int:
    context = Context(args)

    async def action(view: View) -> int:
        audited = await audit(
            view,
            args.selector,
            mounts_are_live=args.mounts == "live",
            read_certificates=args.certificates,
        )
        proved = await with_records(view, context.clock, context.settings, audited.pods)
        audited = audited._replace(pods=proved)
        if view.namespace and not audited.pods:
            await namespaces(View(view.client, view.namespace, view.home))
        pods = [_pod_facts(each, audited.certificates) for each in audited.pods]
        text = _text(audited, context.clock.now(), each_pod=args.pods)
        show(context.output, {"pods": pods, "problems": view.gaps}, text)
        warn(view.gaps)
        stale = [
            finding
            for each in audited.pods
            for finding in each.findings
            if finding.verdict is Verdict.STALE and (finding.certain or args.fail_on == "stale")
        ]
        if args.fail_on and stale:
            return Exit.WOULD_ROLL
        return Exit.FAILED if args.fail_on and view.gaps else Exit.OK

    return context.run(action)


def _text(audited: Audit, now: datetime, *, each_pod: bool) -> Iterator[Table | str]:
    listed = rows(audited.pods, each_pod=each_pod)
    head = ("VERDICT", "POD" if each_pod else "WORKLOAD", "PODS", "SOURCE", "USED AS", "CHANGED")
    yield Table(head, [_row(each, now) for each in listed])
    outdated = _outdated_certificates(audited)
    if outdated:
        yield ""
    head = ("CERTIFICATE IN", "KEY", "SUBJECT", "BEGINS", "ENDS", "PODS WITH AN OLDER")
    yield Table(head, outdated)
    running = [each for each in audited.pods if each.runs]
    stale = sum(each.has(Verdict.STALE) for each in running)
    idle = len(audited.pods) - len(running)
    if listed:
        yield ""
    rest = f"; {idle} more {'does' if idle == 1 else 'do'} not run" if idle else ""
    yield f"{stale} of {len(running)} running pods have stale configuration{rest}"
    yield from dict.fromkeys(
        f"  {_word(each)} {each.source}: {each.why}" for each in listed if each.why
    )


def _word(row: AuditRow) -> str:
    return f"{row.verdict}?" if row.verdict is Verdict.STALE and not row.certain else row.verdict


def _row(row: AuditRow, now: datetime) -> tuple[str, ...]:
    changed = f"{ago(row.changed, now)} by {row.by or 'somebody'}" if row.changed else "-"
    source = f"{row.source.kind} {row.source.name}"
    return _word(row), str(row.of), str(len(row.pods)), source, "; ".join(row.hows), changed


def _outdated_certificates(audited: Audit) -> list[tuple[str, ...]]:
    """The current certificates that pods have in an older version."""
    pods: dict[tuple[Key, Certificate], set[str]] = {}
    for each in audited.pods:
        for finding in each.findings:
            if finding.verdict is Verdict.STALE:
                for certificate in used_certificates(finding, audited.certificates):
                    pods.setdefault((finding.source, certificate), set()).add(each.pod.name)
    return [
        (
            f"{source.kind} {source.namespace}/{source.name}",
            certificate.key,
            certificate.subject or "-",
            str(moment(certificate.begins)),
            str(moment(certificate.ends)),
            str(len(names)),
        )
        for (source, certificate), names in sorted(pods.items())
    ]


def _pod_facts(audited: Audited, certificates: Certificates) -> dict[str, Any]:
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
