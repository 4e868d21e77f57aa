"""`reroll completion SHELL`: the script that makes Tab work."""

import argparse

SHELLS = ("bash", "zsh", "fish")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Print the completion script for a shell.\n\n"
        '  bash, zsh   eval "$(reroll completion bash)"      in ~/.bashrc or ~/.zshrc\n'
        "  fish        reroll completion fish | source       in ~/.config/fish/config.fish"
    )
    parser.add_argument("shell", choices=SHELLS)


def run(args: argparse.Namespace) -> int:
    from argcomplete.shell_integration import shellcode

    print(shellcode(["reroll", "kubectl-reroll"], shell=args.shell))
    return 0
