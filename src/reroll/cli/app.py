"""The command line as a whole: one parser, one table of commands, errors become exit codes.

A command is a module with `configure(parser)` and `run(args) -> int`. Only the module of the
command that was asked for is imported, so that `reroll run` stays small. `dev` and `demo` come with
the distribution reroll-dev, which may not be installed.
"""

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from types import ModuleType

from reroll import __version__
from reroll.cli.errors import CommandError, Exit
from reroll.cli.output import warn

COMMANDS: tuple[tuple[str, str, str], ...] = (
    # name, module, what `reroll --help` says of it
    (
        "run",
        "reroll.cli.commands.run",
        "the controller: roll workloads when their configuration changes",
    ),
    ("sync", "reroll.cli.commands.sync", "roll what is stale now, once, and wait for it"),
    (
        "restart",
        "reroll.cli.commands.restart",
        "replace the pods of workloads, with a reason, and wait",
    ),
    ("hold", "reroll.cli.commands.hold", "keep workloads, or a namespace, from rolling"),
    ("release", "reroll.cli.commands.release", "end a hold; what was held back rolls now"),
    ("plan", "reroll.cli.commands.plan", "what would roll now, or if a change were made"),
    (
        "migrate",
        "reroll.cli.commands.migrate",
        "come from Reloader or Wave: what they do, as settings of Reroll",
    ),
    (
        "attach",
        "reroll.cli.commands.attach",
        "after a deploy: let revisions own the configs they use",
    ),
    ("gc", "reroll.cli.commands.gc", "delete the content-named configs that nothing uses"),
    (
        "render",
        "reroll.cli.commands.render",
        "write checksums into manifests on their way to the cluster",
    ),
    (
        "diff",
        "reroll.cli.commands.diff",
        "which workloads a render would roll, because of which keys",
    ),
    ("pins", "reroll.cli.commands.pins", "have pods start with the config of their own revision"),
    ("crds", "reroll.cli.commands.crds", "print the CustomResourceDefinition of Injections"),
    (
        "explain",
        "reroll.cli.commands.explain",
        "why a workload rolls or does not, in plain sentences",
    ),
    (
        "graph",
        "reroll.cli.commands.graph",
        "who uses which ConfigMaps and Secrets: a tree or a picture",
    ),
    ("history", "reroll.cli.commands.history", "what rolled, when, why, and who had changed what"),
    ("revisions", "reroll.cli.commands.revisions", "what each revision has, and going back to one"),
    ("audit", "reroll.cli.commands.audit", "which running pods have stale configuration now"),
    (
        "key",
        "reroll.cli.commands.key",
        "the keys for digests of Secrets: which are in use, and a new one",
    ),
    ("doctor", "reroll.cli.commands.doctor", "check an installation, and say what to do"),
    ("demo", "reroll_dev.cli.demo", "the main job, live, on a control plane of its own"),
    ("dev", "reroll_dev.cli.dev", "a real control plane on this machine, to try and to test"),
    ("completion", "reroll.cli.commands.completion", "print the completion script for your shell"),
)


def parser_for(argv: Sequence[str], *, completing: bool = False) -> argparse.ArgumentParser:
    """The parser; a command's arguments are added only if `argv` names it, or while completing."""
    parser = argparse.ArgumentParser(
        prog="reroll",
        description="Rolls Kubernetes workloads when the ConfigMaps and Secrets they use change.",
        epilog="`reroll COMMAND --help` tells more. Documentation: docs/index.md",
    )
    parser.add_argument("--version", action="version", version=f"reroll {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    named = next((word for word in argv if not word.startswith("-")), None)
    for name, module, summary in COMMANDS:
        sub = commands.add_parser(
            name,
            help=summary,
            description=summary,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if completing or name == named:
            command = _load(name, module)
            command.configure(sub)
            sub.set_defaults(implementation=command)
    return parser


def _load(name: str, module: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != "reroll_dev":
            raise
        raise CommandError(
            f"`reroll {name}` comes with the package reroll-dev, which is not installed;"
            " run: pip install 'reroll[dev]'"
        ) from None


def run(argv: Sequence[str]) -> int:
    if "_ARGCOMPLETE" in os.environ:
        from reroll.cli.commands.completion import complete

        complete(parser_for)
    try:
        parser = parser_for(argv)
        args = parser.parse_args(argv)
        command: ModuleType | None = getattr(args, "implementation", None)
        if command is None:
            parser.print_help()
            return Exit.OK
        return int(command.run(args))
    except CommandError as error:
        warn([str(error)])
        return error.code
    except KeyboardInterrupt:
        print("reroll: interrupted", file=sys.stderr)
        return Exit.INTERRUPTED
    except BrokenPipeError:
        # The reader of our output went away (`reroll … | head`): nothing is wrong.
        sys.stderr.close()
        return Exit.OK
