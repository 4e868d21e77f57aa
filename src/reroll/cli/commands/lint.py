"""`reroll lint`: annotations in manifests that do nothing."""

import argparse

from reroll.cli.commands.render import add_config_flag, custom_kinds
from reroll.cli.errors import Exit
from reroll.cli.show import ANSWERS, Answer, add_output_flag, show
from reroll.cli.streams import LARGEST, inputs
from reroll.core.model.names import counted
from reroll.manifests.lint import Finding, Linted, lint
from reroll.manifests.options import Options

DESCRIPTION = """\
Check the reroll.dev/ annotations of manifests before they reach a cluster: unknown keys, values
that cannot be used, and annotations in a pod template, where nothing reads them. Needs no cluster.
Exits with 0 if nothing is wrong, and with 2 otherwise.

  reroll lint manifests/
  helm template shop ./chart | reroll lint
  kustomize build overlays/prod | reroll lint -o json"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="YAML or JSON files, folders of them, or - for standard input (default: -)",
    )
    parser.add_argument(
        "-n", "--namespace", metavar="NAME", default="", help="namespace of objects that name none"
    )
    add_config_flag(parser)
    add_output_flag(parser, ANSWERS)


def run(args: argparse.Namespace) -> int:
    options = Options(args.namespace, custom=custom_kinds(args))
    return show(args.output, answer(lint(inputs(args.files or ["-"], LARGEST), options)))


def answer(linted: Linted) -> Answer:
    objects, count = counted(linted.objects, "object"), len(linted.findings)
    return Answer(
        document={
            "objects": linted.objects,
            "problems": [_document(finding) for finding in linted.findings],
        },
        text=[*map(str, linted.findings)] or [f"{objects}, no problems"],
        warnings=[f"{counted(count, 'problem')} in {objects}"] if count else [],
        code=Exit.USAGE if count else Exit.OK,
    )


def _document(finding: Finding) -> dict[str, object]:
    return {
        "where": finding.where,
        "object": finding.object,
        "annotation": finding.annotation,
        "problem": finding.sentence,
    }
