"""`reroll attach`: revisions become owners of the content-named configs that they use."""

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from reroll.cli.command import Context
from reroll.cli.errors import CommandError, Exit
from reroll.cli.flags import add_dry_run_flag, add_flags
from reroll.cli.sentences import warn
from reroll.cli.show import Answer, Place, Table, add_output_flag, target
from reroll.cli.targets import config_target, duration, workload_target
from reroll.clock import SystemClock
from reroll.core.model.key import Key
from reroll.kube.view import View
from reroll.pipeline.attach import Attached, Result, Selection, attach

DESCRIPTION = """\
Make each revision of a workload (ReplicaSet, ControllerRevision) an owner of the content-named
configs that it uses, so that Kubernetes deletes them together. A Job or CronJob owns them itself.
Run it after every deploy of `reroll render --names`.

  reroll attach -n shop                  all workloads of a namespace
  reroll attach -n shop deployment/web   one of them
  reroll attach -A -l team=shop -o json"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("workloads", nargs="*", metavar="KIND/NAME", help="only these workloads")
    parser.add_argument("-l", "--selector", help="only workloads with these labels")
    parser.add_argument(
        "--config",
        action="append",
        metavar="KIND/NAME",
        help="only this content-named config; then no other is looked at (repeatable)",
    )
    parser.add_argument(
        "--timeout",
        default="1m",
        metavar="1m",
        help="how long to wait for the revisions of what was just deployed (default: 1m)",
    )
    add_dry_run_flag(parser)
    add_output_flag(parser)
    add_flags(parser)


def run(args: argparse.Namespace) -> int:
    named = [workload_target(text) for text in args.workloads]
    configs = [(row.name, name) for row, name in map(config_target, args.config or ())]
    if named and (args.selector or args.all_namespaces):
        raise CommandError("name workloads, or select them with -l or -A; not both", Exit.USAGE)
    if configs and args.all_namespaces:
        raise CommandError("--config is about one namespace: use -n, not -A", Exit.USAGE)
    patience = duration("--timeout", args.timeout)
    selection = Selection(named, args.selector, configs, patience, args.dry_run)

    async def ask(view: View) -> Answer:
        attached = await attach(view, selection, SystemClock(), _waiting)
        problems = [*attached.gaps, *_problems(attached, args.timeout)]
        return _answer(attached.results, problems, everywhere=args.all_namespaces)

    return Context(args).answer(ask)


def _waiting(late: Sequence[Key]) -> None:
    if sys.stderr.isatty():
        names = ", ".join(map(str, late[:3])) + (", …" if late[3:] else "")
        warn([f"waiting for the newest revision of {names}"])


def _problems(attached: Attached, timeout: str) -> list[str]:
    lacks = "no revision of its template"
    return [
        *(f"{key}: {lacks} within {timeout}" for key in attached.late),
        *(f"{key}: {lacks} while it is paused" for key in attached.paused),
        *(f"{one.config}: {one.problem}" for one in attached.results if one.problem),
    ]


def _answer(results: list[Result], problems: list[str], *, everywhere: bool) -> Answer:
    place = Place.of((one.workload for one in results), everywhere=everywhere)
    rows = [(*place.cells(one.workload), *_cells(one)) for one in results]
    table = Table((*place.columns, "OWNER", "CONFIG", "RESULT"), rows)
    return Answer(
        document={"attached": [_facts(one) for one in results], "problems": problems},
        text=[table if results else "no content-named configs in use"],
        names=[target(one.config) for one in results],
        warnings=problems,
        code=Exit.FAILED if problems else Exit.OK,
    )


def _cells(one: Result) -> tuple[str, str, str]:
    return f"{one.owner.kind.lower()}/{one.owner.name}", target(one.config), one.result


def _facts(one: Result) -> dict[str, Any]:
    return {
        "workload": one.workload._asdict(),
        "owner": {"kind": one.owner.kind, "name": one.owner.name},
        "config": one.config._asdict(),
        "result": one.result,
    }
