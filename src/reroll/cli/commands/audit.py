"""`reroll audit`: which running pods have stale configuration now."""

import argparse
import asyncio
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from reroll.answers.audit.judge import Finding, Known, Pod, Verdict, judge
from reroll.answers.audit.report import (
    Audited,
    Row,
    controller_of,
    held,
    owner,
    rows,
    with_certificates,
)
from reroll.cli import cluster
from reroll.cli.configs import every_config
from reroll.cli.errors import Exit
from reroll.cli.flags import add_flags
from reroll.cli.output import add_output_flag, print_json, print_lines, print_table, warn
from reroll.cli.targets import CONFIGS
from reroll.cli.times import ago, moment
from reroll.clock import SystemClock
from reroll.core.model.key import Key
from reroll.core.model.metadata import Metadata
from reroll.core.observe.provenance import Writes, writes
from reroll.kube import wire
from reroll.kube.view import View
from reroll.x509 import Certificate, certificates

DESCRIPTION = """\
Tell which running pods have stale configuration: a ConfigMap or Secret that they use in their
environment or by subPath was written after the container started. The times are those that the
API server keeps (managedFields), so this works in a cluster that never saw Reroll. It reads only,
and of Secrets only the metadata, unless --certificates is given.

  reroll audit -A
  reroll audit -n shop -l app=web --pods
  reroll audit -A --fail-on stale         ends with 3 if a pod is stale, for CI
  reroll audit -A --certificates          whose certificates the pods have in an older version"""

MAKERS = (
    wire.Resource("apps", "v1", "replicasets", "ReplicaSet"),
    wire.Resource("batch", "v1", "jobs", "Job"),
)
"""What stands between a pod and its workload."""


SECRETS = next(row for row in CONFIGS if row.keyed)


class _Public(msgspec.Struct, gc=False):
    """Of the data of a Secret, what is no secret; the rest is not even decoded."""

    tls: str = msgspec.field(default="", name="tls.crt")
    ca: str = msgspec.field(default="", name="ca.crt")


class _Secret(msgspec.Struct, gc=False):
    metadata: Metadata
    data: _Public | None = None


class _Maker(msgspec.Struct, gc=False):
    metadata: Metadata


class Audit(NamedTuple):
    pods: list[Audited]
    certificates: Mapping[Key, tuple[Certificate, ...]]


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
    add_flags(parser)


def run(args: argparse.Namespace) -> int:
    async def action(view: View) -> int:
        found = await _audit(view, args)
        _show(args, found, view.gaps)
        stale = [
            finding
            for one in found.pods
            for finding in one.findings
            if finding.verdict is Verdict.STALE and (finding.certain or args.fail_on == "stale")
        ]
        if args.fail_on and stale:
            return Exit.WOULD_ROLL
        return Exit.FAILED if args.fail_on and view.gaps else Exit.OK

    return cluster.look(args, action)


# What is there


async def _audit(view: View, args: argparse.Namespace) -> Audit:
    pods, known, makers = await asyncio.gather(
        view.every(wire.PODS, Pod, label_selector=args.selector), _known(view), _makers(view)
    )
    audited = [
        Audited(
            key := Key("Pod", pod.metadata.namespace, pod.metadata.name),
            owner(pod.metadata, key, makers),
            tuple(judge(pod, known, mounts_are_live=args.mounts == "live")),
        )
        for pod in pods
        if pod.runs
    ]
    if not args.certificates:
        return Audit(audited, {})
    found = await _certificates(view, audited)
    return Audit([with_certificates(one, found) for one in audited], found)


async def _known(view: View) -> Known:
    """The writes of every source; of kinds that may not be listed nothing is known."""
    configs = await every_config(view)
    seen = {key: writes(metadata) for key, metadata in configs.there.items()}

    def known(source: Key) -> Writes | None:
        if source.kind in configs.blind:
            raise KeyError(source)
        return seen.get(source)

    return known


async def _makers(view: View) -> dict[Key, Key]:
    """Who makes what makes pods."""
    lists = await asyncio.gather(
        *(view.every(maker, _Maker, metadata_only=True) for maker in MAKERS)
    )
    return {
        Key(maker.kind, one.metadata.namespace, one.metadata.name): above
        for maker, found in zip(MAKERS, lists, strict=True)
        for one in found
        if (above := controller_of(one.metadata))
    }


async def _certificates(
    view: View, audited: Iterable[Audited]
) -> dict[Key, tuple[Certificate, ...]]:
    """Of the Secrets that pods use; what may not be read is a gap."""
    found: dict[Key, tuple[Certificate, ...]] = {}
    used = {finding.source for one in audited for finding in one.findings}
    for key in sorted(key for key in used if key.kind == SECRETS.name):
        one = await view.get(cluster.resource(SECRETS), key.namespace, key.name, _Secret)
        if one and one.data:
            found[key] = tuple(certificates({"tls.crt": one.data.tls, "ca.crt": one.data.ca}))
    return found


# What is shown


def _show(args: argparse.Namespace, found: Audit, gaps: list[str]) -> None:
    now = SystemClock().now()
    if args.output == "json":
        pods = [_facts(one, found.certificates) for one in found.pods]
        print_json({"pods": pods, "problems": gaps})
    else:
        listed = rows(found.pods, each_pod=args.pods)
        head = ("VERDICT", "POD" if args.pods else "WORKLOAD", "PODS", "SOURCE", "USED AS")
        print_table((*head, "CHANGED"), [_row(one, now) for one in listed])
        _show_certificates(found)
        stale = sum(one.has(Verdict.STALE) for one in found.pods)
        gap = "\n" if listed else ""
        print(f"{gap}{stale} of {len(found.pods)} running pods have stale configuration")
        print_lines(dict.fromkeys(f"  {_note(one)}" for one in listed if one.why))
    warn(gaps)


def _word(verdict: Verdict, certain: bool) -> str:
    return f"{verdict}?" if verdict is Verdict.STALE and not certain else verdict.value


def _row(one: Row, now: datetime) -> tuple[str, ...]:
    changed = f"{ago(one.changed, now)} by {one.by or 'somebody'}" if one.changed else "-"
    source = f"{one.source.kind} {one.source.name}"
    word = _word(one.verdict, one.certain)
    return word, str(one.of), str(len(one.pods)), source, "; ".join(one.hows), changed


def _note(one: Row) -> str:
    return f"{_word(one.verdict, one.certain)} {one.source}: {one.why}"


def _show_certificates(found: Audit) -> None:
    """The current certificates that pods have in an older version."""
    pods: dict[tuple[Key, Certificate], list[str]] = {}
    for one in found.pods:
        for finding in one.findings:
            if finding.verdict is Verdict.STALE:
                for certificate in held(finding, found.certificates):
                    pods.setdefault((finding.source, certificate), []).append(one.pod.name)
    lines = [
        (
            f"{source.kind} {source.namespace}/{source.name}",
            certificate.key,
            certificate.subject or "-",
            str(moment(certificate.begins)),
            str(moment(certificate.ends)),
            str(len(set(names))),
        )
        for (source, certificate), names in sorted(pods.items())
    ]
    if lines:
        print()
    print_table(("CERTIFICATE IN", "KEY", "SUBJECT", "BEGINS", "ENDS", "PODS WITH AN OLDER"), lines)


def _facts(one: Audited, found: Mapping[Key, tuple[Certificate, ...]]) -> dict[str, Any]:
    return {
        "namespace": one.pod.namespace,
        "name": one.pod.name,
        "workload": one.workload._asdict(),
        "stale": one.has(Verdict.STALE),
        "uses": [_finding(finding, found) for finding in one.findings],
    }


def _finding(one: Finding, found: Mapping[Key, tuple[Certificate, ...]]) -> dict[str, Any]:
    facts = {
        "source": one.source._asdict(),
        "how": one.use.how,
        "container": one.use.container,
        "keys": None if one.use.keys is None else sorted(one.use.keys),
        "optional": one.use.optional,
        "verdict": one.verdict.value,
        "certain": one.certain,
        "started": moment(one.started),
        "changed": moment(one.changed),
        "changedBy": one.by,
        "why": one.why,
    }
    held_here = [
        {**each._asdict(), "begins": moment(each.begins), "ends": moment(each.ends)}
        for each in held(one, found)
    ]
    return {**facts, "certificates": held_here} if held_here else facts
