"""What Reloader and Wave do in a cluster today, and what Reroll will do.

Pure: workloads and controllers in, findings out.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from reroll.answers.controllers import Stuck, rivals
from reroll.answers.migration.controllers import ConfiguredController
from reroll.answers.migration.differences import Subject, differences
from reroll.answers.migration.translate import TOOLS
from reroll.core.dialects.rows import Dialect, PolicyInput
from reroll.core.dialects.table import Dialects
from reroll.core.dialects.wave import NO_SCHEDULER, SCHEDULING_DISABLED
from reroll.core.dialects.words import Place
from reroll.core.model.key import Key
from reroll.core.model.metadata import Manifest, pick
from reroll.core.model.podspec import PodTemplate, given
from reroll.core.model.record import Record
from reroll.core.model.unreadable import UNREADABLE
from reroll.core.observe.workload import Workload, belongs_to_workload
from reroll.core.policy.policy import Policy
from reroll.core.tables.kinds import Kind

PAUSED_AT = "deployment.reloader.stakater.com/paused-at"
FINALIZER = "wave.pusher.com/finalizer"
TITLES = {tool.name: tool.title for tool in TOOLS}


class Member(NamedTuple):
    """A workload that is in."""

    key: Key
    dialects: tuple[str, ...]
    because: tuple[str, ...]
    """The annotations that say so."""
    changes: tuple[str, ...]
    """What Reroll will do otherwise."""
    problems: tuple[str, ...]
    adopted: bool
    """Reroll has a record of it already."""


class Findings(NamedTuple):
    controllers: tuple[ConfiguredController, ...]
    members: tuple[Member, ...]
    stuck: tuple[Stuck, ...]

    @property
    def rivals(self) -> tuple[ConfiguredController, ...]:
        return rivals(self.controllers)

    @property
    def problems(self) -> tuple[str, ...]:
        return tuple(problem for member in self.members for problem in member.problems)


class Candidate(NamedTuple):
    """One workload of the cluster, opted in or not."""

    kind: Kind
    manifest: Manifest
    workload: Workload
    namespace: Mapping[str, str]
    """The annotations of its Namespace."""


def findings(
    candidates: Iterable[Candidate],
    controllers: tuple[ConfiguredController, ...],
    dialects: Dialects,
) -> Findings:
    everyone = {tool.name for tool in TOOLS if _asks(controllers, tool.title, "auto-all")}
    handled = _handled(controllers)
    members: list[Member] = []
    stuck: list[Stuck] = []
    for candidate in candidates:
        if not belongs_to_workload(candidate.manifest.metadata):
            members += _member(candidate, dialects, everyone, handled)
            stuck += _stuck(candidate, controllers)
    return Findings(controllers, tuple(members), tuple(stuck))


def _member(
    one: Candidate, dialects: Dialects, everyone: set[str], handled: frozenset[str]
) -> Iterator[Member]:
    workload = one.workload
    asked = PolicyInput(
        workload.key,
        one.kind,
        workload.annotations,
        workload.template_annotations,
        one.namespace,
        Policy(),
    )
    opinions = [(row, row.read(asked, dialects.options)) for row in dialects.rows]
    default = Policy(enabled=True) if everyone else Policy()
    policy = dialects.policy(asked._replace(default=default))
    by: list[str] = []
    because: list[str] = []
    for row, opinion in opinions:
        if opinion.enabled and policy.enabled:
            because += _because(one, row, dialects)
        elif row.name in everyone and opinion.enabled is None and policy.enabled:
            because.append(f"{TITLES[row.name]} handles every workload")
        else:
            continue
        by.append(row.name)
    problems = [problem.sentence for problem in policy.problems]
    if by or problems:
        subject = _subject(one, handled)
        yield Member(
            workload.key,
            tuple(by),
            tuple(because),
            tuple(
                text
                for name in by
                if name in TITLES
                for text in differences(name, TITLES[name], subject)
            ),
            tuple(problems),
            isinstance(workload.record, Record),
        )


def _because(one: Candidate, row: Dialect, dialects: Dialects) -> Iterator[str]:
    """The words of a dialect that opts it in, where they stand."""
    places = (
        (Place.WORKLOAD, one.workload.annotations, ""),
        (Place.TEMPLATE, one.workload.template_annotations, " on the pod template"),
        (Place.NAMESPACE, one.namespace, f" on Namespace {one.workload.key.namespace}"),
    )
    for word in row.words(dialects.options):
        for place, annotations, where in places:
            if place in word.places and word.key in annotations:
                yield f"{word.key}: {annotations[word.key]}{where}"


def _subject(one: Candidate, handled: frozenset[str]) -> Subject:
    raw = pick(one.manifest, one.kind.template)
    try:
        template = msgspec.json.decode(raw, type=PodTemplate) if raw else PodTemplate()
    except UNREADABLE:
        template = PodTemplate()
    workload = one.workload
    return Subject(workload.key, one.kind, workload.annotations, template, workload.still, handled)


def _handled(controllers: Iterable[ConfiguredController]) -> frozenset[str]:
    """Kinds that Reloader is told to handle, which it does not by itself."""
    switches = {"--is-Argo-Rollouts=true": "Rollout"}
    switches |= {"--enable-csi-integration=true": "SecretProviderClass"}
    given = {line.given for one in controllers if one.translation for line in one.translation.lines}
    return frozenset(kind for switch, kind in switches.items() if switch in given)


def _asks(controllers: Iterable[ConfiguredController], title: str, setting: str) -> bool:
    return any(
        one.title == title and one.translation and one.translation.settings.get(setting)
        for one in controllers
    )


def _stuck(one: Candidate, controllers: Iterable[ConfiguredController]) -> Iterator[Stuck]:
    annotations = one.manifest.metadata.annotations or {}
    active = {each.title for each in controllers if each.is_active}
    key = one.workload.key
    if SCHEDULING_DISABLED in annotations and _scheduler(one) == NO_SCHEDULER:
        why = "its pods wait for a scheduler that does not exist, which Wave set"
        yield Stuck(key, f"{why}; Reroll with the dialect `wave` restores its own")
    if FINALIZER in given(one.manifest.metadata.finalizers):
        why = f"an old Wave left the finalizer {FINALIZER}, so it cannot be deleted"
        yield Stuck(key, f"{why}; take it out of metadata.finalizers")
    at = annotations.get(PAUSED_AT)
    if at is not None and one.workload.still and "Reloader" not in active:
        why = f"Reloader paused it at {at[:40]} and is not there to end that"
        end = "Reroll with the dialect `reloader` ends it when its pause period is over"
        yield Stuck(key, f"{why}; {end}")


def _scheduler(one: Candidate) -> str:
    raw = pick(one.manifest, (*one.kind.template, "spec", "schedulerName"))
    found = msgspec.json.decode(raw) if raw else ""
    return found if isinstance(found, str) else ""
