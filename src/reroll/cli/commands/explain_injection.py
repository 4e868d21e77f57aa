"""`reroll explain injection/NAME`: what an Injection writes where, and whether it is in place.

Values are never read: the metadata of its sources and its target tells who wrote what.
"""

import argparse
from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from reroll.answers.errors import missing_sentence
from reroll.cli.command import Context
from reroll.cli.errors import CommandError, Exit
from reroll.cli.show import Answer, Table
from reroll.cli.show import target as named_target
from reroll.cli.times import ago, moment
from reroll.clock import SystemClock
from reroll.core.model.fieldpaths import text
from reroll.core.model.injection import KIND, PLURAL, Condition, From, Injection, Manifest, read
from reroll.core.model.key import Key
from reroll.core.observe.provenance import Write, Writes
from reroll.engine.configs import writes_of
from reroll.features.injection.decide import Target, target_of
from reroll.features.injection.ownership import Owner
from reroll.features.injection.writer import TargetHead
from reroll.kube.resources import INJECTIONS
from reroll.kube.view import View

WORDS = frozenset({KIND.lower(), PLURAL, INJECTIONS.full_name})


def is_meant(argument: str) -> bool:
    """Whether `KIND/NAME` names an Injection."""
    return argument.partition("/")[0].lower() in WORDS


class Explanation(NamedTuple):
    """All there is to show."""

    injection: Injection
    sources: dict[Key, Writes]
    target: Target
    owners: list[Owner] | None
    """The owners of the field now; `None`: its object does not exist, or may not be read."""

    @property
    def path(self) -> str:
        return text(self.injection.path) or self.injection.spec.to.path

    def source(self, each: From) -> Key:
        return each.source(self.injection.key.namespace)

    def last_write(self, each: From) -> Write | None:
        writes = self.sources.get(self.source(each))
        return writes.last(frozenset({each.key})) if writes else None


def run(args: argparse.Namespace, named: str) -> int:
    name = named.partition("/")[2]
    if not name:
        raise CommandError("write injection/NAME", Exit.USAGE)

    async def ask(view: View) -> Answer:
        explanation, now = await _gather(view, name), SystemClock().now()
        return Answer(
            document={**_facts(explanation), "problems": view.gaps},
            text=[*_sentences(explanation, now), *_tables(explanation, now)],
            names=[named_target(explanation.injection.key)],
            warnings=view.gaps,
            code=Exit.FAILED if view.gaps else Exit.OK,
        )

    return Context(args).answer(ask)


async def _gather(view: View, name: str) -> Explanation:
    manifest = await view.get(INJECTIONS, view.namespace or view.home, name, Manifest)
    if manifest is None:
        others = await view.every(INJECTIONS, Manifest)
        keys = [Key(KIND, other.metadata.namespace, other.metadata.name) for other in others]
        raise CommandError(
            "; ".join([missing_sentence(KIND, name, keys, view.namespace), *view.gaps])
        )
    injection = read(manifest)
    resource = await view.find(injection.spec.to.group, injection.spec.to.kind)
    target = target_of(injection, namespaced=resource is None or resource.namespaced)
    head = resource and await view.get(resource, target.namespace or None, target.name, TargetHead)
    owners = head.owners(injection.path) if head else None
    return Explanation(injection, await writes_of(view, injection.sources), target, owners)


# The text


def _sentences(explanation: Explanation, now: datetime) -> Iterator[str]:
    injection, target = explanation.injection, explanation.target
    yield str(injection.key)
    yield f"  It writes {_value(injection)} to {explanation.path} of {target}."
    if injection.spec.dry_run:
        yield "  It is a dry run: nothing is written."
    yield f"  {_state(injection)}"
    if written := _time(injection.status.written):
        yield f"  It was last written {ago(written, now)} as {injection.manager}."
    yield f"  {_ownership(explanation.owners)}"
    yield f"  Anyone who may read {target} can read the value there."


def _value(injection: Injection) -> str:
    home, spec = injection.key.namespace, injection.spec
    keys = [f"key {each.key} of {_named(each.source(home), home)}" for each in spec.from_]
    template = " through its template" if spec.template is not None else ""
    encoding = "" if spec.encoding == "string" else f" as {spec.encoding}"
    return f"{', '.join(keys)}{template}{encoding}"


def _named(source: Key, home: str) -> str:
    return f"{source.kind} {source.name}" if source.namespace == home else str(source)


def _state(injection: Injection) -> str:
    ready = next((c for c in injection.status.conditions if c.type == "Ready"), None)
    if ready is None:
        return "No controller has looked at it yet; is one running with --injections?"
    old = "" if ready.observed_generation == injection.generation else " (of an earlier spec)"
    return f"Decision: {ready.reason}: {ready.message}{old}."


def _ownership(owners: list[Owner] | None) -> str:
    if owners is None:
        return "Its target does not exist, or may not be read."
    if not owners:
        return "No field manager owns the field."
    return f"The field is owned by {', '.join(owner.manager for owner in owners)}."


def _tables(explanation: Explanation, now: datetime) -> Iterator[Table | str]:
    home = explanation.injection.key.namespace
    sources = [
        (
            _named(explanation.source(each), home),
            each.key,
            each.template_name,
            _changed(explanation, each, now),
        )
        for each in explanation.injection.spec.from_
    ]
    conditions = [
        (each.type, each.status, each.reason, ago(_time(each.last_transition_time), now))
        for each in explanation.injection.status.conditions
    ]
    yield ""
    yield Table(("SOURCE", "KEY", "VARIABLE", "CHANGED"), sources)
    if conditions:
        yield ""
        yield Table(("CONDITION", "STATUS", "REASON", "SINCE"), conditions)


def _changed(explanation: Explanation, each: From, now: datetime) -> str:
    if last := explanation.last_write(each):
        return f"{ago(last.at, now)} by {last.by}"
    is_known = explanation.source(each) in explanation.sources
    return "no such key" if is_known else "missing, or not readable"


def _time(written: str) -> datetime | None:
    return datetime.fromisoformat(written) if written else None


# JSON


def _facts(explanation: Explanation) -> dict[str, Any]:
    injection, owners = explanation.injection, explanation.owners
    return {
        "injection": injection.key._asdict(),
        "target": {**explanation.target._asdict(), "path": explanation.path},
        "dryRun": injection.spec.dry_run,
        "sources": [_source(explanation, each) for each in injection.spec.from_],
        "conditions": [_condition(each) for each in injection.status.conditions],
        "written": injection.status.written or None,
        "takenBack": injection.status.taken_back,
        "fieldManager": injection.manager,
        "owners": None if owners is None else [owner._asdict() for owner in owners],
    }


def _source(explanation: Explanation, each: From) -> dict[str, Any]:
    last = explanation.last_write(each)
    return {
        **explanation.source(each)._asdict(),
        "key": each.key,
        "variable": each.template_name,
        "changed": moment(last.at) if last else None,
        "changedBy": last.by if last else None,
    }


def _condition(condition: Condition) -> dict[str, Any]:
    return {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "since": condition.last_transition_time,
    }
