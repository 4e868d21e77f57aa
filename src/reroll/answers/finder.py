"""Finds the installation whose decisions a command shows: where it runs, and its settings.

A Deployment of the controller has a label for this, whatever the release is called. One list finds
it and one read brings its settings. What may not be read is a sentence, and the command goes on
with the settings that its own shell has.
"""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from reroll.answers.errors import AnswerError
from reroll.answers.installations import Installation, installations
from reroll.answers.installed_settings import installed_settings
from reroll.core.model.metadata import Manifest, Metadata
from reroll.core.model.names import several
from reroll.core.tables.annotations import DOMAIN
from reroll.core.tables.kinds import KINDS
from reroll.core.tables.rights import Feature
from reroll.engine.scope import Namespaces, scope
from reroll.features.checkup.access import Question, Subject, ask
from reroll.kube import resources
from reroll.kube.errors import Forbidden
from reroll.kube.objects import Stub
from reroll.kube.view import View
from reroll.settings.table import Settings

DEPLOYMENT = KINDS[0]
COMPONENT = f"{DOMAIN}component"
LABELS = (f"{COMPONENT}=controller", "app.kubernetes.io/name=reroll")
"""Of its Deployment; the second one for releases that have not the first."""
HOW_TO_CHOOSE = "choose with --controller-namespace or --lease"
HOW_TO_SAY = "say where it runs with --controller-namespace, or give its --config"


class Choice(NamedTuple):
    """What was said of the installation that is meant; empty: any."""

    namespace: str = ""
    lease: str = ""


class Installed(NamedTuple):
    """An installation as it looks at the cluster."""

    installation: Installation
    settings: Settings
    """Those of its pods; `namespace` is where it runs."""

    def __str__(self) -> str:
        return str(self.installation.key)

    @property
    def is_everywhere(self) -> bool:
        return not (self.settings.namespaces or self.settings.namespace_selector)

    def covers(self, namespace: Metadata) -> bool:
        """Whether it looks at the workloads of a namespace."""
        known = Namespaces(scope(self.settings), lambda _: None)
        known.observe(namespace)
        return known.that_counts(namespace.name) is not None


class Search(NamedTuple):
    """All installations that can be meant, the best one first."""

    candidates: tuple[Installed, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def best(self) -> Installed | None:
        return next(iter(self.candidates), None)


async def find(view: View, choice: Choice, namespace: str | None) -> Search:
    """The installations that look at `namespace`; at anything, if it is `None`.

    One that was chosen counts whatever it looks at.
    """
    there, notes = await _deployments(view, choice)
    read = await asyncio.gather(*(_settings(view, one) for one in there))
    known = [one for one, _ in read if choice.lease in {"", one.settings.lease}]
    notes += [note for _, note in read if note]
    is_chosen = any(choice)
    if namespace is None or is_chosen:
        fit = known
    else:
        info = await _namespace(view, namespace, known)
        fit = [one for one in known if one.covers(info)]
    if not is_chosen:
        fit, doubts = await _credible(view, fit, namespace)
        notes += doubts
    fit = sorted(fit, key=lambda one: _order(one, namespace, view.home))
    if known and not fit:
        notes.append(_uncovered(known, namespace or ""))
    if len(fit) > 1:
        notes.append(_several(fit))
    return Search(tuple(fit), tuple(notes))


async def _credible(
    view: View, fit: Sequence[Installed], namespace: str | None
) -> tuple[list[Installed], list[str]]:
    """Those whose service account may roll what is asked for.

    Anyone who may make a Deployment can give it our label and settings; rights are not theirs to
    give. Those who may not ask about others are told whose settings count, before anything is done.
    """
    trusted: list[Installed] = []
    notes: list[str] = []
    for one in fit:
        places = one.settings.namespaces if namespace is None else (namespace,)
        asked = [
            Question(Feature.ROLLING, "patch", DEPLOYMENT.group, DEPLOYMENT.plural, place)
            for place in places or ("",)
        ]
        account = Subject(one.installation.key.namespace, one.installation.account)
        try:
            lacking = await ask(view.client, asked, account)
        except Forbidden:
            notes.append(f"this is decided as {one} does; {HOW_TO_CHOOSE}, if that is not yours")
            trusted.append(one)
            continue
        if lacking:
            notes.append(f"{one} looks like a controller and may not roll here: it is left out")
        else:
            trusted.append(one)
    return trusted, notes


def _order(one: Installed, namespace: str | None, home: str) -> tuple[bool, bool, str]:
    """A namespace that is named belongs to who names it; all of them to who looks everywhere."""
    is_far = one.is_everywhere if namespace else not one.is_everywhere
    return is_far, one.installation.key.namespace != home, str(one)


def _uncovered(known: Sequence[Installed], namespace: str) -> str:
    names = several([str(one) for one in known])
    verb = "looks" if len(known) == 1 else "look"
    return (
        f"no controller looks at namespace {namespace}: {names} {verb} at others; this is decided "
        f"with the settings of this shell; {HOW_TO_CHOOSE} to have another's"
    )


def _several(fit: Sequence[Installed]) -> str:
    names = several([str(one) for one in fit])
    return (
        f"there are {len(fit)} installations here ({names}); this is decided as {fit[0]} does; "
        f"{HOW_TO_CHOOSE}"
    )


async def _deployments(view: View, choice: Choice) -> tuple[list[Installation], list[str]]:
    """Those of the controller: by their label, or all in the namespace that was given."""
    if choice.namespace:
        listed, gap = await _list(view, choice.namespace)
        what = f"{gap}; the settings of the controller there are not known: give its --config"
        return listed, [what] if gap else []
    for label in LABELS:
        listed, gap = await _list(view, None, label)
        if gap:
            near = view.namespace or view.home
            listed, _ = await _list(view, near)
            return listed, [] if listed else [f"{gap}, to find the controller; or {HOW_TO_SAY}"]
        if listed:
            return listed, []
    return [], []


async def _list(
    view: View, namespace: str | None, label: str | None = None
) -> tuple[list[Installation], str]:
    near = View(view.client, namespace, view.home)
    manifests = await near.every(resources.DEPLOYMENTS, Manifest, label_selector=label)
    found = installations((DEPLOYMENT, one) for one in manifests)
    return found, near.gaps[0] if near.gaps and not found else ""


async def _settings(view: View, one: Installation) -> tuple[Installed, str]:
    home = one.key.namespace
    try:
        settings, note = await installed_settings(view, one.settings, home), ""
    except AnswerError as error:
        settings = Settings()
        note = f"{one.key}: {error}; its settings are taken to be the defaults: give its --config"
    here = msgspec.structs.replace(settings, namespace=settings.namespace or home)
    return Installed(one, here), note


async def _namespace(view: View, name: str, known: Sequence[Installed]) -> Metadata:
    """With its labels, if one of these looks at labels."""
    bare = Metadata(name=name)
    if not any(one.settings.namespace_selector for one in known):
        return bare
    near = View(view.client, None, view.home)
    stub = await near.get(resources.NAMESPACES, None, name, Stub, metadata_only=True)
    return stub.metadata if stub else bare
