"""The command line as a whole: one parser, one table of commands, errors become exit codes.

A command is a module with `DESCRIPTION`, `configure(parser)` and `run(args) -> int`. Only the
module of the command that was asked for is imported, so that `reroll run` stays small. `dev` and
`demo` come with the distribution reroll-dev, which may not be installed.
"""

import argparse
import gc
import importlib
import os
import sys
from collections.abc import Sequence
from functools import partial
from types import ModuleType
from typing import NoReturn

from reroll import __version__
from reroll.cli.errors import CommandError, Exit
from reroll.cli.sentences import warn

GROUPS: dict[str, dict[str, str]] = {
    # heading of `reroll --help` -> name -> what it says of the command
    "Look, and change nothing": {
        "status": "each opted-in workload: last roll, rollout, what holds it",
        "explain": "why a workload rolls or does not, in plain sentences",
        "windows": "when rolls may start: what is open, until when, what opens next",
        "plan": "what would roll now, or if a change were made",
        "audit": "which running pods have stale configuration now",
        "history": "what rolled, when, why, and who had changed what",
        "graph": "which workloads use which ConfigMaps and Secrets",
        "doctor": "check an installation, and say what to do",
        "dashboard": "what is rolling, what is held and why, in a browser",
    },
    "Roll, or keep from rolling": {
        "sync": "roll what is stale, once, and wait for it",
        "restart": "replace the pods of workloads, give a reason, and wait",
        "hold": "keep workloads, a namespace, a source or everything from rolling",
        "release": "end a hold; what was held back rolls now",
        "approve": "let workloads roll with the content of a source",
        "reject": "keep workloads from rolling with the content of a source",
        "promote": "roll a workload now, with the configuration of its canary",
        "abort": "remove a workload's canary, and leave the workload as it is",
        "revisions": "list the revisions of a workload, or go back to one",
    },
    "Manifests, without a controller": {
        "render": "write checksums into manifests on their way to the cluster",
        "lint": "find annotations in manifests that do nothing",
        "diff": "which workloads a render would roll, and because of which keys",
        "attach": "after a deploy, make revisions own the configs they use",
        "gc": "delete content-named configs that nothing uses",
    },
    "Run and administer": {
        "run": "run the controller",
        "pins": "make pods start with the config of their own revision",
        "approvals": "make the API server guard approvals",
        "notice": "send a test notice, or preview what each receiver would get",
        "key": "show, rotate or prune the keys for digests of Secrets",
        "crds": "print the CustomResourceDefinition of Injections",
        "migrate": "move from Reloader or Wave: their settings as Reroll's",
        "completion": "print the completion script for your shell",
        "version": "print the version",
    },
    "Try and test": {
        "demo": "show the main job live, on a control plane of its own",
        "dev": "run a real control plane on this machine",
    },
}
COMMANDS = {name: summary for group in GROUPS.values() for name, summary in group.items()}
_WHILE_BUILT = partial(argparse.HelpFormatter, width=80)
"""argparse formats arguments as they are added. How wide the terminal is matters for help alone,
and asking for it imports archives and compression."""
DEVELOPMENT = frozenset(("demo", "dev"))
"""Commands of the distribution reroll-dev."""


class Parser(argparse.ArgumentParser):
    """Wrong usage is a sentence, as every other error is."""

    asked = ""
    """The command that is named, where the parser of all commands has something to say."""

    def error(self, message: str) -> NoReturn:
        said = message.removeprefix("argument ")
        raise CommandError(f"{said}; see `{self.asked or self.prog} --help`", Exit.USAGE)


def parser_for(argv: Sequence[str], *, completing: bool = False) -> argparse.ArgumentParser:
    """The parser; a command's arguments are added only if `argv` names it, or while completing.

    A command that comes first is the only one: who runs it waits for no other.
    """
    parser = Parser(
        prog="reroll",
        usage="reroll [-h] [--version] COMMAND ...",
        description="Rolls Kubernetes workloads when the ConfigMaps and Secrets they use change.",
        epilog="\n\n".join([*map(_group, GROUPS), "`reroll COMMAND --help` has the details."]),
        formatter_class=_WHILE_BUILT,
    )
    parser.add_argument("--version", action="version", version=f"reroll {__version__}")
    commands = parser.add_subparsers(
        prog="reroll", dest="command", metavar="COMMAND", help=argparse.SUPPRESS
    )
    parser.formatter_class = _for_people
    named = next((word for word in argv if not word.startswith("-")), None)
    parser.asked = f"reroll {named}" if named in COMMANDS else ""
    only = () if completing else [name for name in argv[:1] if name in COMMANDS]
    for name in only or COMMANDS:
        sub = commands.add_parser(
            name,
            help=COMMANDS[name],
            description=COMMANDS[name],
            formatter_class=_WHILE_BUILT,
        )
        if completing or name == named:
            command = _load(name)
            sub.description = command.DESCRIPTION
            command.configure(sub)
            sub.set_defaults(implementation=command)
        sub.formatter_class = _for_people
    return parser


def _for_people(prog: str) -> argparse.HelpFormatter:
    """How help is laid out, loaded where somebody asks for it."""
    from reroll.cli.help import Help

    return Help(prog)


def _group(heading: str) -> str:
    rows = [f"  {name:<12}{summary}" for name, summary in GROUPS[heading].items()]
    return "\n".join([f"{heading}:", *rows])


def _check_command(argv: Sequence[str]) -> None:
    """A command that there is not is a sentence, with the one that may be meant."""
    word = next(iter(argv), "-")
    if word.startswith("-") or word in COMMANDS:
        return
    from difflib import get_close_matches

    alike = get_close_matches(word, COMMANDS, 1)
    hint = f"did you mean `reroll {alike[0]}`?" if alike else "`reroll --help` lists them"
    raise CommandError(f"there is no command {word!r}; {hint}", Exit.USAGE)


def _load(name: str) -> ModuleType:
    """The module of a command, with all that it imports: none of that is ever garbage.

    To look for cycles in it would take a tenth of its import.
    """
    package = "reroll_dev.cli" if name in DEVELOPMENT else "reroll.cli.commands"
    gc.disable()
    try:
        return importlib.import_module(f"{package}.{name}")
    except ModuleNotFoundError as error:
        if error.name != "reroll_dev":
            raise
        raise CommandError(
            f"`reroll {name}` comes with the package reroll-dev, which is not installed;"
            " run: pip install 'reroll[dev]'"
        ) from None
    finally:
        gc.freeze()
        gc.enable()


def _parsed(argv: Sequence[str]) -> tuple[argparse.Namespace, ModuleType | None]:
    """What is asked for; without a command, help is printed.

    The parser goes, with every text of it: the controller stays for long. So the command is loaded
    before there is a parser to be kept with it.
    """
    if argv and argv[0] in COMMANDS:
        _load(argv[0])
    parser = parser_for(argv)
    args = parser.parse_args(argv)
    command: ModuleType | None = getattr(args, "implementation", None)
    if command is None:
        parser.print_help()
    return args, command


def run(argv: Sequence[str]) -> int:
    if "_ARGCOMPLETE" in os.environ:
        from reroll.cli.commands.completion import complete

        complete(parser_for)
    try:
        _check_command(argv)
        args, command = _parsed(argv)
        return int(command.run(args)) if command else Exit.OK
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
