"""`reroll audit`: which running pods have stale configuration now."""

import argparse
from collections.abc import Iterator
from datetime import datetime

import msgspec

from reroll.answers.audit.gather import Audit, audit
from reroll.answers.audit.records import with_records
from reroll.answers.audit.report import Audited, AuditRow, pod_facts, rows, used_certificates
from reroll.answers.namespaces import namespaces
from reroll.cli.command import Context
from reroll.cli.errors import Exit
from reroll.cli.flags import add_controller_flags, add_flags
from reroll.cli.show import Answer, Place, Table, add_output_flag, target
from reroll.cli.times import ago, moment
from reroll.cli.watch import add_watch_flag
from reroll.core.model.key import Key
from reroll.core.observe.staleness import Verdict
from reroll.kube.view import View
from reroll.x509 import Certificate

DESCRIPTION = """\
Show which running pods have stale configuration: a ConfigMap or Secret that they use in their
environment or by subPath was written after the container started. The times come from the API
server (managedFields), so this works in a cluster that never saw Reroll. Where Reroll's record of a
roll proves that what the pods use is unchanged, they are not stale. Read-only; of Secrets it reads
the metadata only, unless a record covers them or you ask for --certificates.

  reroll audit -A
  reroll audit -n shop -l app=web --pods
  reroll audit -A --fail-on stale     for CI: exits with 3 if a pod is stale
  reroll audit -A --certificates      outdated certificates in running pods"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "workloads", nargs="*", metavar="KIND/NAME", help="only pods of these workloads"
    )
    parser.add_argument("-l", "--selector", metavar="LABELS", help="only pods with these labels")
    parser.add_argument(
        "--mounts",
        choices=("live", "frozen"),
        default="live",
        help="`frozen` also counts plain mounts, for applications that read files once "
        "(default: live)",
    )
    parser.add_argument(
        "--certificates",
        action="store_true",
        help="read the certificates in the Secrets that pods use: subject and expiry, never a key",
    )
    parser.add_argument(
        "--fail-on",
        choices=("stale", "certain"),
        help="exit with 3 if a pod is stale, or only if that is certain",
    )
    parser.add_argument("--pods", action="store_true", help="show a line for each pod")
    add_output_flag(parser)
    add_watch_flag(parser)
    add_controller_flags(parser)
    add_flags(parser)


def run(args: argparse.Namespace) -> int:
    context = Context(args)
    context.check_usage()
    return context.answer(lambda view: _audit(view, context))


async def _audit(view: View, context: Context) -> Answer:
    args = context.args
    audited = await audit(
        view,
        args.selector,
        mounts_are_live=args.mounts == "live",
        read_certificates=args.certificates,
    )
    pods = await with_records(view, context.clock, context.settings, audited.pods)
    audited = audited._replace(pods=await _selected(view, context, pods))
    if view.namespace and not audited.pods:
        await namespaces(view.again())
    listed = rows(audited.pods, each_pod=args.pods)
    return Answer(
        document={
            "pods": [pod_facts(each, audited.certificates) for each in audited.pods],
            "problems": view.gaps,
        },
        text=[*_text(audited, listed, context, everywhere=view.namespace is None)],
        names=[target(each.of) for each in listed],
        warnings=view.gaps,
        code=_code(args.fail_on, audited, view.gaps),
    )


async def _selected(view: View, context: Context, pods: list[Audited]) -> list[Audited]:
    """The pods of the workloads that were named; a name that is no workload is an error."""
    if not context.args.workloads:
        return pods
    kinds = {kind.name: kind for kind, _ in context.selection.named}
    known = [each.workload.key for each in await view.workloads(kinds.values())]
    context.selection.check(known, view.gaps, namespace=view.namespace)
    named = {(kind.name, name) for kind, name in context.selection.named}
    return [each for each in pods if (each.workload.kind, each.workload.name) in named]


def _code(fail_on: str | None, audited: Audit, gaps: list[str]) -> Exit:
    if not fail_on:
        return Exit.OK
    findings = [finding for each in audited.pods for finding in each.findings]
    stale = [one for one in findings if one.verdict is Verdict.STALE]
    if any(one.certain or fail_on == "stale" for one in stale):
        return Exit.WOULD_ROLL
    return Exit.FAILED if gaps else Exit.OK


def _text(
    audited: Audit, listed: list[AuditRow], context: Context, *, everywhere: bool
) -> Iterator[Table | str]:
    now, name = context.clock.now(), "POD" if context.args.pods else "WORKLOAD"
    place = Place.of((each.of for each in listed), name, everywhere=everywhere)
    columns = ("VERDICT", *place.columns, "PODS", "SOURCE", "USED AS", "CHANGED", "POD NAMES")
    facts = [msgspec.to_builtins(each) for each in listed]
    table = [_row(each, place, now) for each in listed]
    yield Table(columns, table, wide={"POD NAMES"}, facts=facts)
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


def _row(row: AuditRow, place: Place, now: datetime) -> tuple[str, ...]:
    changed = f"{ago(row.changed, now)} by {row.by or 'somebody'}" if row.changed else "-"
    uses, pods = "; ".join(row.hows), ", ".join(row.pods)
    cells = (str(len(row.pods)), target(row.source), uses, changed, pods)
    return (_word(row), *place.cells(row.of), *cells)


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
