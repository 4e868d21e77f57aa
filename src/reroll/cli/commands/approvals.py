"""`reroll approvals`: have the API server let only those approve who have the right."""

import argparse
from typing import Any

from reroll.cli.command import Context
from reroll.cli.commands.pins import print_yaml
from reroll.cli.errors import Exit
from reroll.cli.flags import add_config_flag, add_dry_run_flag, add_flags
from reroll.cli.show import Answer, Table, add_output_flag
from reroll.core.tables.source_kinds import Watched
from reroll.engine import approval_objects
from reroll.engine.approval_guard import UNGUARDED, is_guarded
from reroll.engine.approval_objects import GROUP, NAME, RESOURCE, VERB, Manifest
from reroll.kube import api, resources
from reroll.kube.objects import Stub
from reroll.kube.view import View

DESCRIPTION = f"""\
Sources and workloads with `reroll.dev/approval: required` wait until somebody approves their
content. This limits who may: a ValidatingAdmissionPolicy, CEL inside the API server, asks for the
verb `{VERB}` on `{RESOURCE}.{GROUP}` in the namespace of the source, and lets people write no name
but their own.

  reroll approvals install
  reroll approvals install --dry-run > approvals.yaml    to keep it in Git
  kubectl apply -n shop -f approver.yaml                 a Role with that verb
  reroll approvals status
  reroll approvals uninstall"""
_ROWS = {
    one.kind: one for one in (resources.VALIDATING_POLICIES, resources.VALIDATING_POLICY_BINDINGS)
}


def configure(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="approvals_command", metavar="COMMAND", required=True)
    for name, summary, action in COMMANDS:
        sub = commands.add_parser(name, help=summary, description=summary)
        if action is not _status:
            sub.add_argument("--name", default=NAME, help=f"name of the objects (default: {NAME})")
            told = "apply nothing; print the manifests as YAML" if action is _install else ""
            add_dry_run_flag(sub, told)
        add_output_flag(sub)
        add_config_flag(sub)
        add_flags(sub, places=False)
        sub.set_defaults(approvals_action=action)


def run(args: argparse.Namespace) -> int:
    result: int = args.approvals_action(args)
    return result


def _install(args: argparse.Namespace) -> int:
    context = Context(args)
    rows = [row for row in context.tables.sources if row.watched is not Watched.STATUSES]
    wanted = approval_objects.policy(args.name, rows)
    if args.dry_run:
        print_yaml(wanted)
        return Exit.OK

    async def ask(view: View) -> Answer:
        return _answer([await _applied(view, one) for one in wanted])

    return context.answer(ask)


async def _applied(view: View, manifest: Manifest) -> tuple[str, str, str]:
    kind, name = manifest["kind"], manifest["metadata"]["name"]
    before = await api.find(view.client, _ROWS[kind], None, name, Stub)
    after = await api.apply(view.client, _ROWS[kind], None, name, manifest, Stub)
    if before is None:
        return kind, name, "created"
    same = before.metadata.resource_version == after.metadata.resource_version
    return kind, name, "unchanged" if same else "changed"


def _uninstall(args: argparse.Namespace) -> int:
    async def ask(view: View) -> Answer:
        done = []
        for row in reversed(_ROWS.values()):
            if args.dry_run:
                there = await api.find(view.client, row, None, args.name, Stub)
                done += [(row.kind, args.name, "would be deleted")] if there else []
            elif await api.delete(view.client, row, None, args.name):
                done.append((row.kind, args.name, "deleted"))
        return _answer(done, f"nothing called {args.name} was installed")

    return Context(args).answer(ask)


def _status(args: argparse.Namespace) -> int:
    async def ask(view: View) -> Answer:
        found = await is_guarded(view.client)
        sentences = {
            None: "policies may not be listed, so it is not known what guards approvals",
            False: UNGUARDED,
            True: f"only those with the verb {VERB} on {RESOURCE}.{GROUP} can approve",
        }
        return Answer({"guarded": found}, [sentences[found]])

    return Context(args).answer(ask)


def _answer(done: list[tuple[str, str, str]], nothing: str = "") -> Answer:
    facts: list[dict[str, Any]] = [
        {"kind": kind, "name": name, "what": what} for kind, name, what in done
    ]
    text: Table | str = Table(("KIND", "NAME", "RESULT"), done) if done else nothing
    return Answer({"objects": facts}, [text], [f"{kind.lower()}/{name}" for kind, name, _ in done])


COMMANDS = (
    ("install", "install the policy and its binding", _install),
    ("uninstall", "remove both: then anyone who may write a source may approve it", _uninstall),
    ("status", "show whether approvals are guarded", _status),
)
