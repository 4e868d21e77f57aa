"""`reroll completion SHELL`: the script that makes Tab work."""

import argparse
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from reroll.cli.errors import CommandError

SHELLS = ("bash", "zsh", "fish")
NAMES = {
    # Where argparse puts an argument -> what it can be, a function of `reroll.cli.complete`
    "context": "contexts",
    "namespace": "namespaces",
    "controller_namespace": "namespaces",
    "workload": "workloads",
    "workloads": "workloads",
    "source": "sources",
    "target": "either",
}

DESCRIPTION = """\
Print the completion script for a shell.

  bash, zsh   eval "$(reroll completion bash)"    in ~/.bashrc or ~/.zshrc
  fish        reroll completion fish | source     in config.fish

`kubectl reroll` completes with kubectl's own script: it finds kubectl_complete-reroll. Names come
from the cluster, within $REROLL_COMPLETION_TIMEOUT seconds (default: 3)."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS)


def run(args: argparse.Namespace) -> int:
    from argcomplete.shell_integration import shellcode

    print(shellcode(["reroll", "kubectl-reroll"], shell=args.shell))
    return 0


def complete(parser_for: Callable[[Sequence[str]], argparse.ArgumentParser], **how: Any) -> None:
    """Answer the shell that asks what can follow, and end the process."""
    import argcomplete

    written = os.environ.get("COMP_LINE", "")[: int(os.environ.get("COMP_POINT", "0"))]
    # Only the command that is written is imported.
    try:
        parser = parser_for(written.split()[1:])
    except CommandError:  # it is not installed; the names of commands complete nevertheless
        parser = parser_for(())
    for action in _actions(parser):
        if action.choices is None and action.dest in NAMES:
            action.completer = _asking(NAMES[action.dest])  # type: ignore[attr-defined]
    # Names first: flags are offered to who has begun one.
    argcomplete.autocomplete(parser, always_complete_options=False, **how)


def for_kubectl(
    parser_for: Callable[[Sequence[str]], argparse.ArgumentParser], words: Sequence[str]
) -> None:
    """`kubectl reroll …` asks the program kubectl_complete-reroll: words in, lines out."""
    line = shlex.join(["reroll", *words[:-1]]) + f" {words[-1] if words else ''}"
    os.environ |= {"_ARGCOMPLETE": "1", "COMP_LINE": line, "COMP_POINT": str(len(line))}
    os.environ |= {"_ARGCOMPLETE_IFS": "\n", "_ARGCOMPLETE_SUPPRESS_SPACE": "1"}
    # No file names, and no space after a word: after `deployment/` comes a name.
    complete(parser_for, output_stream=sys.stdout, exit_method=lambda _: print(f"\n:{4 | 2}"))


def _asking(what: str) -> Callable[..., Iterable[str]]:
    def ask(prefix: str, parsed_args: argparse.Namespace, **_: object) -> Iterable[str]:
        # What talks to a cluster is loaded only where names are asked for.
        from reroll.cli import complete as names

        found: Iterable[str] = getattr(names, what)(prefix, parsed_args)
        return found

    return ask


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """All arguments of a parser and of the commands below it."""
    for action in parser._actions:  # noqa: SLF001  argparse shows them nowhere else
        yield action
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for sub in action.choices.values():
                yield from _actions(sub)
