"""`reroll migrate`: come from Reloader or Wave, or look before doing so."""

import argparse
import shlex
from collections.abc import Callable
from typing import Any

from reroll.answers.migration.rows import Fate
from reroll.answers.migration.translate import (
    TOOLS,
    Line,
    Translation,
    Wrong,
    of_command,
    of_values,
    tool_named,
)
from reroll.cli.commands import migrate_check
from reroll.cli.commands.migrate_check import line_document
from reroll.cli.errors import CommandError, Exit
from reroll.cli.files import read_yaml
from reroll.cli.help import Help
from reroll.cli.output import print_json
from reroll.cli.sentences import warn

FLAGS = """\
Translate the settings of Reloader or Wave into Reroll's: from a command line after `--`, with
environment variables as NAME=value, or from the values of their Helm chart.

The output is a config file for `reroll run --config`, or with --chart the values for Reroll's own
chart. Whatever has no counterpart is a comment in it.

  reroll migrate flags -- --auto-reload-all > reroll.yaml
  helm get values reloader | reroll migrate flags --values - --chart"""

DESCRIPTION = (
    "Move a cluster from Reloader or Wave without touching a manifest or restarting anything."
)


def configure(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, description, add_arguments, action in COMMANDS:
        sub = commands.add_parser(
            name,
            help=description.partition("\n\n")[0].replace("\n", " "),
            description=description,
            formatter_class=Help,
        )
        add_arguments(sub)
        sub.set_defaults(migrate_action=action)


def run(args: argparse.Namespace) -> int:
    action: Callable[[argparse.Namespace], int] = args.migrate_action
    return action(args)


def _add_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="WORD", help="the command line, after `--`")
    parser.add_argument(
        "--values", metavar="FILE", help="values of their Helm chart; - for standard input"
    )
    parser.add_argument("--chart", action="store_true", help="print values for Reroll's own chart")
    parser.add_argument(
        "--from",
        dest="tool",
        choices=[tool.name for tool in TOOLS],
        help="whose settings these are, if that is not clear from the settings",
    )
    parser.add_argument(
        "-o", "--output", choices=("yaml", "json"), default="yaml", help="(default: yaml)"
    )


def _flags(args: argparse.Namespace) -> int:
    tool = tool_named(args.tool) if args.tool else None
    if bool(args.words) == bool(args.values):
        raise CommandError(
            "give a command line after `--`, or a file with --values; one of the two", Exit.USAGE
        )
    try:
        if args.values:
            found = of_values(read_yaml(args.values, "values file"), tool)
        else:
            found = of_command(args.words, tool)
    except Wrong as wrong:
        lines = "\n".join(f"  {problem}" for problem in wrong.problems)
        raise CommandError(f"this cannot be translated:\n{lines}", Exit.USAGE) from None
    if args.output == "json":
        print_json(document(found))
    else:
        print(values_file(found) if args.chart else config_file(found))
    open_ones = [line for line in found.lines if line.fate is Fate.DECIDE]
    warn(f"decide before you use this: {line.given}: {line.word}" for line in open_ones)
    return Exit.FAILED if open_ones else Exit.OK


def document(found: Translation) -> dict[str, Any]:
    """A translation for programs."""
    return {
        "from": found.tool.name,
        "settings": found.settings,
        "flags": found.flags,
        "chart": found.chart,
        "lines": [line_document(line) for line in found.lines],
    }


def config_file(found: Translation) -> str:
    """A config file of ours, with what became of each thing that was given."""
    text = [
        f"# The settings of {found.tool.title} as settings of Reroll: `reroll run --config FILE`."
    ]
    text += ["", _yaml(found.settings)]
    beside = "; notices need the file" if "notices" in found.settings else ""
    text += ["", f"# The same as flags{beside}: reroll run {shlex.join(found.flags)}"]
    return "\n".join([*text, *_comments(found)])


def values_file(found: Translation) -> str:
    """Values for our chart."""
    title = f"The settings of {found.tool.title} as values of Reroll's chart"
    head = [f"# {title}: `helm install --values FILE`.", ""]
    return "\n".join([*head, _yaml(found.chart), *_comments(found)])


def _yaml(values: dict[str, Any]) -> str:
    import yaml

    return str(yaml.safe_dump(values, sort_keys=False)).rstrip()


def _comments(found: Translation) -> list[str]:
    """What became of each thing that was given."""
    text = []
    for fate in Fate:
        lines = [line for line in found.lines if line.fate is fate]
        if lines:
            text += ["#", f"# {HEADINGS[fate]}:", *(f"#   {_comment(line)}" for line in lines)]
    return text


def _comment(line: Line) -> str:
    parts = [f"becomes {line.setting}" if line.setting else "", line.word]
    rest = "; ".join(part for part in parts if part)
    return f"{line.given}: {rest}" if rest else line.given


HEADINGS = {
    Fate.DECIDE: "You must decide before you use this",
    Fate.SETTING: "Carried over",
    Fate.CHART: "About the pod, and carried over to values of the chart (--chart)",
    Fate.UNNEEDED: "Not needed",
    Fate.MISSING: "Without a counterpart",
}
COMMANDS: tuple[
    tuple[str, str, Callable[[argparse.ArgumentParser], None], Callable[[argparse.Namespace], int]],
    ...,
] = (
    ("check", migrate_check.DESCRIPTION, migrate_check.add_arguments, migrate_check.run),
    ("flags", FLAGS, _add_flags, _flags),
)
