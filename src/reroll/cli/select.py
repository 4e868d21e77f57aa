"""Which workloads a command is about: names, labels, namespaces; and the engine's look at them.

A name that does not exist is told with the nearest ones that do.
"""

import argparse
import os
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from types import MappingProxyType
from typing import NamedTuple

from reroll.cli.errors import CommandError, Exit
from reroll.cli.files import read_yaml
from reroll.cli.targets import workload_target
from reroll.clock import Clock
from reroll.controller.report import Teller
from reroll.core.model.key import Key
from reroll.core.model.metadata import Manifest
from reroll.core.policy.selectors import Selector, parse_selector
from reroll.core.tables.kinds import Kind, Tables
from reroll.engine.listing import KeyMissingError, Look
from reroll.kube.view import View
from reroll.settings.table import Settings, SettingsError, resolve


def add_controller_flags(parser: argparse.ArgumentParser) -> None:
    """Whose decisions these are."""
    group = parser.add_argument_group("engine")
    group.add_argument(
        "--controller-namespace",
        metavar="NAME",
        help="where the controller runs and its digest key is (also $REROLL_NAMESPACE; "
        "default: namespace of the context)",
    )
    group.add_argument(
        "--config",
        metavar="FILE",
        help="the controller's settings, so that decisions are the same (also $REROLL_CONFIG, "
        "and every $REROLL_… of `reroll run`)",
    )


def add_config_flag(parser: argparse.ArgumentParser) -> None:
    """For a command that decides nothing."""
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="the controller's settings, for the kinds that they add (also $REROLL_CONFIG)",
    )


def add_selector_flag(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-l", "--selector", metavar="LABELS", help="only workloads with these labels"
    )


def settings_of(args: argparse.Namespace) -> Settings:
    """The settings of the controller, as far as this shell knows them."""
    path = args.config or os.environ.get("REROLL_CONFIG") or ""
    home = getattr(args, "controller_namespace", None)
    flags = {"namespace": home} if home else {}
    try:
        return resolve(flags, os.environ, read_yaml(path, "config file") if path else {}, path)
    except SettingsError as error:
        lines = "\n".join(f"  {problem}" for problem in error.problems)
        raise CommandError(f"these settings cannot be used:\n{lines}", Exit.USAGE) from None


def tables_of(args: argparse.Namespace) -> Tables:
    """The kinds that there are, with those of the config file."""
    return settings_of(args).tables


class Choice(NamedTuple):
    """What somebody asked for: workloads by name, or by label; everything if neither."""

    named: tuple[tuple[Kind, str], ...] = ()
    selector: Selector = Selector()

    @property
    def kinds(self) -> frozenset[str]:
        return frozenset(kind.name for kind, _ in self.named)

    def holds(self, kind: Kind, manifest: Manifest) -> bool:
        metadata = manifest.metadata
        if self.named:
            return (kind, metadata.name) in self.named
        return self.selector.matches(metadata.labels or {})

    def check(
        self,
        known: Sequence[Key],
        gaps: Iterable[str],
        lenders: Mapping[Key, Key] = MappingProxyType({}),
        owned: Mapping[Key, Key] = MappingProxyType({}),
    ) -> None:
        """Every name has to be there; what may not be seen may be.

        `lenders` and what is `owned` are no workloads, but another one is for them.
        """
        meant = {(key.kind, key.name): lent_sentence(key, to) for key, to in lenders.items()}
        meant |= {(key.kind, key.name): owned_sentence(key, by) for key, by in owned.items()}
        there = {(key.kind, key.name) for key in known}
        missing = [(kind.name, name) for kind, name in self.named if (kind.name, name) not in there]
        if missing:
            sentences = [meant.get(one) or missing_sentence(*one, known) for one in missing]
            raise CommandError("; ".join([*sentences, *gaps]))


def choice(args: argparse.Namespace) -> Choice:
    """From the arguments `workloads`, `--selector` and `--all-namespaces`."""
    texts, tables = getattr(args, "workloads", None) or (), tables_of(args)
    named = tuple(workload_target(text, tables) for text in texts)
    if named and (getattr(args, "selector", None) or args.all_namespaces):
        raise CommandError("name workloads, or select them with -l or -A; not both", Exit.USAGE)
    text = getattr(args, "selector", None) or ""
    selector = parse_selector(text)
    if selector is None:
        raise CommandError(
            f'-l: {text!r} is no label selector; use e.g. "team=shop,tier!=batch"', Exit.USAGE
        )
    return Choice(named, selector)


async def looked(
    view: View,
    args: argparse.Namespace,
    clock: Clock,
    teller: Teller | None = None,
    *,
    supposing: bool = False,
    make_key: bool = False,
) -> Look:
    """The engine's look at what was asked for, see `Look.fill`."""
    wanted, settings = choice(args), settings_of(args)
    look = Look(view, clock, settings, settings.namespace or view.home, teller)
    try:
        await look.fill(wanted.holds, wanted.kinds, supposing=supposing, make_key=make_key)
    except KeyMissingError as error:
        raise CommandError(str(error)) from None
    known, lent = (*look.workloads, *look.others), look.world.lenders.lent()
    wanted.check(known, view.gaps, lent, look.owned)
    return look


def lent_sentence(lender: Key, borrower: Key) -> str:
    told = f"{lender.kind} {lender.name} runs the template of {borrower}"
    return f"{told}, which is the workload; write {_word(borrower)}"


def owned_sentence(owned: Key, owner: Key) -> str:
    told = f"{owned.kind} {owned.name} belongs to {owner}"
    return f"{told}, which is the workload; write {_word(owner)}"


def _word(key: Key) -> str:
    return f"{key.kind.lower()}/{key.name}"


def missing_sentence(kind: str, name: str, known: Iterable[Key]) -> str:
    """A sentence with names that may be meant: of the same kind first, then the same elsewhere."""
    alike = get_close_matches(name, [key.name for key in known if key.kind == kind], 3)
    near = [f"{kind.lower()}/{one}" for one in dict.fromkeys(alike)]
    near += [f"{key.kind.lower()}/{name}" for key in known if key.name == name and key.kind != kind]
    hint = f"; did you mean {' or '.join(near)}?" if near else "; see `reroll plan --all`"
    return f"there is no {kind} {name} here{hint}"
