"""What of a workload stands in its spec: its template, and what it says beside it."""

from itertools import islice

import msgspec

from reroll.core.model.key import Key, Problem
from reroll.core.model.marks import Carrier
from reroll.core.model.metadata import Fields, Manifest, pick, value_in
from reroll.core.model.podspec import Container, PodTemplate, fingerprint, given, without_nulls
from reroll.core.model.record import Record, Unreadable
from reroll.core.model.unreadable import UNREADABLE
from reroll.core.policy.beside import NOTHING, Beside, found_beside
from reroll.core.policy.references import Use, uses
from reroll.core.policy.vocabulary import Vocabulary
from reroll.core.revisions.copies import MappedBack, mapped_back
from reroll.core.revisions.pins import PINS, read_pins
from reroll.core.tables import limits
from reroll.core.tables.kinds import Kind


class _WorkloadRef(msgspec.Struct, gc=False):
    kind: str = ""
    name: str = ""


class Spec(msgspec.Struct, frozen=True, gc=False):
    """What of a `Workload` stands in its spec."""

    uses: tuple[Use, ...]
    """Each once: many mounts of one volume are one, and a short template can have very many."""
    crowded: bool
    """It names sources at more places than one workload may: none of them is in `uses`."""
    template_hash: bytes
    """Of the template that took effect last."""
    has_template_metadata: bool
    has_template_annotations: bool
    lacks: int
    """Of the path where a roll writes, if that is not in its template: the last steps that are not
    there."""
    template_annotations: dict[str, str]
    """What its template says that a dialect reads there."""
    pins: dict[tuple[str, str], str]
    """The copies that its template names in its annotation, by kind and name of the source."""
    pins_text: str | None
    named: bool
    """Its template names copies where it uses them, too."""
    plain: bool
    """It names some of these sources themselves."""
    containers: tuple[Carrier, ...]
    marks: dict[str, str]
    """The marks that its template has, annotations and variables alike."""
    still: bool
    replaces_pods: bool
    replicas: int
    """Of a kind with partitions: how many pods it should have."""
    partition: int
    """How many of them a new template leaves as they are."""
    selector: tuple[tuple[str, str], ...]
    borrows: str
    """The Deployment whose template it runs."""
    problems: tuple[Problem, ...]


def spec_of(
    kind: Kind, manifest: Manifest, words: Vocabulary, record: Record | Unreadable | None
) -> Spec:
    raw = pick(manifest, kind.template)
    template, problems = _decode(raw, kind, manifest)
    containers = given(template.spec.containers) if template.spec else []
    metadata = template.metadata
    annotations = metadata.annotations if metadata else None
    still = value_in(pick(manifest, kind.still), bool) or False
    update = value_in(pick(manifest, kind.update_strategy), str)
    replicas, partition = _partitioned(kind, manifest)
    pins_text = (annotations or {}).get(PINS)
    pins = read_pins(pins_text) if pins_text else {}
    had = read_pins(record.pins) if isinstance(record, Record) and record.pins else {}
    named = tuple(islice(uses(template.spec), limits.USES.number + 1)) if template.spec else ()
    back = mapped_back(dict.fromkeys(named), pins, had) if template.spec else MappedBack()
    beside = _beside(kind, manifest, words)
    crowded = len(named) + len(beside.uses) > limits.USES.number
    return Spec(
        uses=() if crowded else (*back.uses, *beside.uses),
        crowded=crowded,
        template_hash=fingerprint(raw, loose=kind.loose) if raw else b"",
        has_template_metadata=metadata is not None,
        has_template_annotations=annotations is not None,
        lacks=beside.lacks,
        template_annotations=words.said_by(annotations or {}),
        pins=pins,
        pins_text=pins_text,
        named=back.named,
        plain=back.plain,
        containers=tuple(map(_carrier, containers)),
        marks=_marks(annotations or {}, containers, words) | beside.marks,
        still=still,
        replaces_pods=kind.replaces_pods and update != "OnDelete",
        replicas=replicas,
        partition=partition,
        selector=_selector(kind, manifest),
        borrows=borrowed(kind, manifest),
        problems=problems,
    )


def borrowed(kind: Kind, manifest: Manifest) -> str:
    """The Deployment whose template it runs; nothing if it has its own."""
    if not kind.borrows_template:
        return ""
    ref = value_in(pick(manifest, ("spec", "workloadRef")), _WorkloadRef)
    return ref.name if ref and ref.kind == "Deployment" else ""


def _beside(kind: Kind, manifest: Manifest, words: Vocabulary) -> Beside:
    if not kind.names and kind.stamp is None:
        return NOTHING
    document = {
        "spec": value_in(manifest.spec, object),
        "status": value_in(manifest.status, object) if kind.reads_status else None,
    }
    return found_beside(kind, document, words.marks)


def _partitioned(kind: Kind, manifest: Manifest) -> tuple[int, int]:
    """How many pods it should have, and how many of them a new template leaves as they are."""
    if kind.counts is None or not kind.counts.partition:
        return 0, 0
    fields = Fields(manifest)
    return fields.number(kind.replicas), fields.number(kind.counts.partition)


_MATCH_LABELS = ("spec", "selector", "matchLabels")


def _selector(kind: Kind, manifest: Manifest) -> tuple[tuple[str, str], ...]:
    """The labels that its pods have."""
    members = kind.members
    if members and members.label:
        return ((members.label, manifest.metadata.name),)
    path = members.selector if members else _MATCH_LABELS
    return tuple(sorted((value_in(pick(manifest, path), dict[str, str]) or {}).items()))


def _carrier(container: Container) -> Carrier:
    env = container.env
    return Carrier(container.name, None if env is None else tuple(var.name for var in env))


def _marks(
    annotations: dict[str, str], containers: list[Container], words: Vocabulary
) -> dict[str, str]:
    found = {key: value for key, value in annotations.items() if key in words.marks}
    for container in containers:
        found |= {v.name: v.value for v in given(container.env) if words.is_mark(v.name)}
    return found


def _decode(
    raw: msgspec.Raw | None, kind: Kind, manifest: Manifest
) -> tuple[PodTemplate, tuple[Problem, ...]]:
    where = Key(kind.name, manifest.metadata.namespace, manifest.metadata.name)
    path = ".".join(kind.template)
    if not raw:
        # One that may run another's is judged by whoever knows that.
        missing = kind.template and not kind.borrows_template
        return PodTemplate(), (Problem(f"{path} of {where} is not there"),) if missing else ()
    try:
        return _template(raw), ()
    except UNREADABLE as error:
        why = str(error) if isinstance(error, msgspec.DecodeError) else type(error).__name__
        return PodTemplate(), (Problem(f"{path} of {where} is not a pod template: {why}"),)


def _template(raw: msgspec.Raw) -> PodTemplate:
    try:
        return msgspec.json.decode(raw, type=PodTemplate)
    except msgspec.ValidationError:
        # Custom resources keep what the API server's own kinds lose: null, which means absent.
        return msgspec.convert(without_nulls(msgspec.json.decode(raw)), PodTemplate)
