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

COMMANDS: dict[str, str] = {
    # name -> what `reroll --help` says of it
    "run": "the controller: roll workloads when their configuration changes",
    "sync": "roll what is stale now, once, and wait for it",
    "restart": "replace the pods of workloads, with a reason, and wait",
    "hold": "keep workloads, or a namespace, from rolling",
    "release": "end a hold; what was held back rolls now",
    "status": "each workload that is opted in: last roll, rollout, what holds it",
    "plan": "what would roll now, or if a change were made",
    "migrate": "come from Reloader or Wave: what they do, as settings of Reroll",
    "attach": "after a deploy: let revisions own the configs they use",
    "gc": "delete the content-named configs that nothing uses",
    "render": "write checksums into manifests on their way to the cluster",
    "diff": "which workloads a render would roll, because of which keys",
    "pins": "have pods start with the config of their own revision",
    "crds": "print the CustomResourceDefinition of Injections",
    "explain": "why a workload rolls or does not, in plain sentences",
    "graph": "who uses which ConfigMaps and Secrets: a tree or a picture",
    "history": "what rolled, when, why, and who had changed what",
    "revisions": "what each revision has, and going back to one",
    "audit": "which running pods have stale configuration now",
    "key": "the keys for digests of Secrets: which are in use, and a new one",
    "doctor": "check an installation, and say what to do",
    "demo": "the main job, live, on a control plane of its own",
    "dev": "a real control plane on this machine, to try and to test",
    "completion": "print the completion script for your shell",
}
DEVELOPMENT = frozenset(("demo", "dev"))
"""Commands of the distribution reroll-dev."""


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
    for name, summary in COMMANDS.items():
        sub = commands.add_parser(
            name,
            help=summary,
            description=summary,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if completing or name == named:
            command = _load(name)
            command.configure(sub)
            sub.set_defaults(implementation=command)
    return parser


def _load(name: str) -> ModuleType:
    package = "reroll_dev.cli" if name in DEVELOPMENT else "reroll.cli.commands"
    try:
        return importlib.import_module(f"{package}.{name}")
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
