"""One run of a command: what its arguments and the environment mean, each resolved once.

A command makes one `Context` of its arguments, and reads settings, kinds, selected workloads,
output format and time from it; nothing writes to the arguments. `Context.run` does the rest with
the cluster, and turns what goes wrong there into a `CommandError`.
"""

import argparse
import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from reroll.answers.errors import AnswerError, missing_sentence
from reroll.cli.errors import CommandError, Exit
from reroll.cli.files import read_yaml
from reroll.cli.targets import targets, workload_target
from reroll.clock import Clock, SystemClock
from reroll.core.model.key import Key
from reroll.core.model.metadata import Manifest
from reroll.core.policy.selectors import Selector, parse_selector
from reroll.core.tables.catalog import Tables
from reroll.core.tables.kinds import Kind
from reroll.kube.auth import load
from reroll.kube.client import Client
from reroll.kube.errors import ApiError, ConfigError, Unauthorized
from reroll.kube.view import View
from reroll.pipeline.refused import RefusedError
from reroll.settings.resolve import SettingsError, resolve
from reroll.settings.table import SETTINGS, Settings

if TYPE_CHECKING:
    from reroll.answers.finder import Choice, Installed
    from reroll.cli.show import Answer
    from reroll.engine.listing import Listing

PLACES = frozenset(("namespace", "lease", "kubeconfig", "context"))
"""Settings that say which cluster and which controller is meant, and nothing of what it does."""


class Context:
    """`workloads` and `everywhere` stand for arguments that a command has under other names."""

    def __init__(
        self,
        args: argparse.Namespace,
        *,
        workloads: Sequence[str] | None = None,
        everywhere: bool | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.args = args
        self.output: str = getattr(args, "output", "table")
        self.clock = clock or SystemClock()
        self._workloads = targets(workloads or getattr(args, "workloads", None) or ())
        said = getattr(args, "all_namespaces", False)
        self._everywhere = said if everywhere is None else everywhere
        self._installed: Installed | None = None
        self.notes: list[str] = []
        """What was said while the controller was looked for."""

    @property
    def has_settings(self) -> bool:
        """Whether this shell was given the settings of the controller, and not only its place."""
        variables = {row.variable for row in SETTINGS if row.name not in PLACES}
        given = getattr(self.args, "config", None) or os.environ.get("REROLL_CONFIG")
        return bool(given) or not variables.isdisjoint(os.environ)

    async def learn(self, view: View) -> "Sequence[Installed]":
        """Take the settings of the installation that looks at what was asked for, if there is one.

        Settings that were given here count instead. Returns all installations that can be meant.
        """
        from reroll.answers.finder import find

        if self.has_settings:
            return ()
        search = await find(view, self.choice, view.namespace)
        self._installed = search.best
        self.notes = [*search.notes]
        return search.candidates

    @property
    def choice(self) -> "Choice":
        """What this shell says of the controller that is meant."""
        from reroll.answers.finder import Choice

        lease = getattr(self.args, "lease", None) or os.environ.get("REROLL_LEASE", "")
        return Choice(self._given.namespace, lease)

    @property
    def settings(self) -> Settings:
        """The settings of the controller: its own once `learn` found it, else those given here."""
        return self._installed.settings if self._installed else self._given

    @cached_property
    def _given(self) -> Settings:
        """The settings of the controller, as far as this shell knows them."""
        path = self.args.config or os.environ.get("REROLL_CONFIG") or ""
        named = {"namespace": "controller_namespace", "lease": "lease"}
        said = {name: getattr(self.args, flag, None) for name, flag in named.items()}
        flags = {name: text for name, text in said.items() if text}
        try:
            return resolve(flags, os.environ, read_yaml(path, "config file") if path else {}, path)
        except SettingsError as error:
            lines = "\n".join(f"  {problem}" for problem in error.problems)
            raise CommandError(f"these settings cannot be used:\n{lines}", Exit.USAGE) from None

    @property
    def tables(self) -> Tables:
        """The kinds that there are, with those of the config file."""
        return self.settings.tables

    def check_usage(self) -> None:
        """Report wrong usage before the cluster is asked.

        A kind that is not known here may be one of those that the controller's settings add.
        """
        is_final, tables = self.has_settings, self.tables
        words = [each for each in self._workloads if is_final or "/" not in each.strip("/")]
        for each in words:
            workload_target(each, tables)
        self.selector  # noqa: B018  it raises what is wrong

    @cached_property
    def selection(self) -> "Selection":
        """From the arguments `workloads`, `--selector` and `--all-namespaces`."""
        tables = self.tables  # Settings that cannot be used are reported whatever was selected.
        named = tuple(workload_target(each, tables) for each in self._workloads)
        return Selection(named, self.selector)

    @cached_property
    def selector(self) -> Selector:
        """From the arguments `--selector` and `--all-namespaces`, which go with no names."""
        text = getattr(self.args, "selector", None) or ""
        if self._workloads and (text or self._everywhere):
            raise CommandError("name workloads, or select them with -l or -A; not both", Exit.USAGE)
        selector = parse_selector(text)
        if selector is None:
            raise CommandError(
                f'-l: {text!r} is not a label selector; use e.g. "team=shop,tier!=batch"',
                Exit.USAGE,
            )
        return selector

    # The cluster

    def run(self, action: Callable[[View], Awaitable[int]]) -> int:
        """Do `action` with the cluster that the arguments name."""
        try:
            return asyncio.run(self._run(action))
        except ConfigError as error:
            raise CommandError(str(error), Exit.USAGE) from None
        except Unauthorized as error:
            raise CommandError(
                f"the API server does not accept these credentials ({error}); log in again, or "
                "choose another context with --context"
            ) from None
        except RefusedError as error:
            code = Exit.USAGE if error.is_usage else Exit.FAILED
            raise CommandError(str(error), code) from None
        except (AnswerError, ApiError) as error:
            raise CommandError(str(error)) from None

    def answer(self, ask: Callable[[View], Awaitable["Answer"]]) -> int:
        """Show what the cluster answers, in the form of `-o`; with `--watch`, again and again."""
        from reroll.cli.watch import present

        return self.run(lambda view: present(self.args, view, ask))

    async def _run(self, action: Callable[[View], Awaitable[int]]) -> int:
        args = self.args
        connection = load(os.environ, kubeconfig=args.kubeconfig, context=args.context)
        home = connection.namespace or "default"
        namespace = None if self._everywhere else getattr(args, "namespace", None) or home
        async with Client(connection) as client:
            return await action(View(client, namespace, home))

    async def listing(
        self, view: View, *, supposing: bool = False, make_key: bool = False
    ) -> "Listing":
        """The engine's listing of the selected workloads, see `Listing.fill`."""
        from reroll.answers.namespaces import namespaces
        from reroll.engine.listing import Listing
        from reroll.engine.listing_keys import KeyMissingError

        await self.learn(view)
        selection, settings = self.selection, self.settings
        listing = Listing(view, self.clock, settings, settings.namespace or view.home)
        listing.notes += self.notes
        try:
            await listing.fill(
                selection.holds, selection.kinds, supposing=supposing, make_key=make_key
            )
        except KeyMissingError as error:
            raise CommandError(str(error)) from None
        known, lent = (*listing.workloads, *listing.others), listing.world.lenders.lent()
        if view.namespace and not known:
            await namespaces(view.again())
        selection.check(known, view.gaps, lent, listing.owned, view.namespace)
        return listing


class Selection(NamedTuple):
    """Workloads by name, or by label; everything if neither."""

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
        namespace: str | None = None,
    ) -> None:
        """Every name has to be there; what may not be listed may be.

        `lenders` and what is `owned` are no workloads, but another one is for them.
        """
        hints = {(key.kind, key.name): _lent(key, to) for key, to in lenders.items()}
        hints |= {(key.kind, key.name): _owned(key, by) for key, by in owned.items()}
        there = {(key.kind, key.name) for key in known}
        missing = [(kind.name, name) for kind, name in self.named if (kind.name, name) not in there]
        if missing:
            sentences = [
                hints.get(each) or missing_sentence(*each, known, namespace) for each in missing
            ]
            raise CommandError("; ".join([*sentences, *gaps]))


def _lent(lender: Key, borrower: Key) -> str:
    what = f"{lender.kind} {lender.name} runs the template of {borrower}"
    return f"{what}, which is the workload; write {_target(borrower)}"


def _owned(owned: Key, owner: Key) -> str:
    what = f"{owned.kind} {owned.name} belongs to {owner}"
    return f"{what}, which is the workload; write {_target(owner)}"


def _target(key: Key) -> str:
    return f"{key.kind.lower()}/{key.name}"
