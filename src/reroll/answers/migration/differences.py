"""Where Reroll does otherwise than the tool that a workload comes from, and for whom that matters.

Each row is a sentence for the guides; one with `applies` is also told for the workloads that it
concerns, with what it is about there.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from reroll.core.dialects.wave import EXTRA
from reroll.core.model.key import Key
from reroll.core.model.podspec import Container, PodSpec, PodTemplate, given
from reroll.core.policy.references import uses
from reroll.core.tables.kinds import Kind, Strategy


class Subject(NamedTuple):
    """A workload that a dialect opts in."""

    key: Key
    kind: Kind
    annotations: Mapping[str, str]
    template: PodTemplate
    is_still: bool = False
    """It is paused or suspended."""
    handled: frozenset[str] = frozenset()
    """Kinds that the other tool handles only if told to, and is."""

    @property
    def spec(self) -> PodSpec:
        return self.template.spec or PodSpec()


class Difference(NamedTuple):
    dialect: str
    theirs: str
    ours: str
    applies: Callable[[Subject], Iterable[str]] | None = None
    """What it is about in a workload that it concerns; nothing, if it does not."""

    def sentence(self, title: str) -> str:
        return f"{title} {self.theirs}; Reroll {self.ours}"


def differences(dialect: str, title: str, subject: Subject) -> Iterator[str]:
    """What will be different for one workload."""
    for row in DIFFERENCES:
        if row.dialect == dialect and row.applies:
            about = ", ".join(dict.fromkeys(row.applies(subject)))
            if about:
                yield f"{row.sentence(title)} ({about})"


def _names(spec: PodSpec) -> set[str]:
    return {f"{use.kind.lower()}/{use.name}" for use in uses(spec)}


def _init_containers(subject: Subject) -> Iterable[str]:
    """Sources that only the environment of init containers names."""
    spec = subject.spec
    bare = [Container(one.name, one.env, one.env_from) for one in given(spec.init_containers)]
    others = msgspec.structs.replace(spec, init_containers=None)
    return sorted(_names(PodSpec(containers=bare)) - _names(others))


def _unmounted(subject: Subject) -> Iterable[str]:
    spec = subject.spec
    containers = [*given(spec.containers), *given(spec.init_containers)]
    mounted = {mount.name for one in containers for mount in given(one.volume_mounts)}
    for volume in given(spec.volumes):
        if volume.name not in mounted and (volume.config_map or volume.secret or volume.projected):
            yield f"volume {volume.name}"


def _narrow(subject: Subject) -> Iterable[str]:
    for volume in given(subject.spec.volumes):
        source = volume.config_map or volume.secret
        if source is not None and source.items:
            yield f"volume {volume.name}"


def _elsewhere(subject: Subject) -> Iterable[str]:
    for annotation in EXTRA.values():
        for item in subject.annotations.get(annotation, "").split(","):
            namespace, slash, _ = item.strip().partition("/")
            if slash and namespace != subject.key.namespace:
                yield item.strip()


def _blanks(subject: Subject) -> Iterable[str]:
    for annotation in EXTRA.values():
        items = subject.annotations.get(annotation, "").split(",")
        yield from (item.strip() for item in items if item.strip() and item != item.strip())


def _csi(subject: Subject) -> Iterable[str]:
    found = [use for use in uses(subject.spec) if use.kind == "SecretProviderClass"]
    return [] if "SecretProviderClass" in subject.handled else [use.name for use in found]


def _unknown_to_wave(subject: Subject) -> Iterable[str]:
    return [] if subject.kind.name in WAVE_KINDS else [subject.kind.name]


def _alternatives(subject: Subject) -> Iterable[str]:
    for key, text in subject.annotations.items():
        if key.endswith("reloader.stakater.com/reload") and "|" in text:
            yield text


def _suspended(subject: Subject) -> Iterable[str]:
    return ["it is suspended"] if subject.is_still and _triggers(subject) else []


def _triggers(subject: Subject) -> bool:
    return Strategy.TRIGGER in subject.kind.strategies


def _jobs(subject: Subject) -> Iterable[str]:
    return ["Job"] if Strategy.RECREATE in subject.kind.strategies else []


def _paused(subject: Subject) -> Iterable[str]:
    period = subject.annotations.get("deployment.reloader.stakater.com/pause-period")
    return [period] if period and subject.kind.name != "Deployment" else []


def _rollouts(subject: Subject) -> Iterable[str]:
    is_one = subject.kind.borrows_template and subject.kind.name not in subject.handled
    return [subject.kind.name] if is_one else []


WAVE_KINDS = frozenset(("Deployment", "StatefulSet", "DaemonSet"))
DIFFERENCES: tuple[Difference, ...] = (
    Difference("wave", "overlooks the environment of init containers", "rolls for it", _init_containers),
    Difference("wave", "overlooks CSI classes", "rolls for them", _csi),
    Difference("wave", "rolls for every key of a volume, whatever its `items` say", "rolls for the keys that are shown", _narrow),
    Difference("wave", "rolls for a volume that no container mounts", "does not", _unmounted),
    Difference("wave", "reads extra sources of every namespace", "reads those that allow it: annotate them with `reroll.dev/allow-from`", _elsewhere),
    Difference("wave", "overlooks an extra source with a blank before its name", "takes it", _blanks),
    Difference("wave", "handles only Deployments, StatefulSets and DaemonSets", "handles every kind", _unknown_to_wave),
    Difference("wave", "rolls a workload once when it opts in or Wave is installed", "records what is there and rolls nothing"),
    Difference("wave", "waits without a word while required configuration is missing or deleted", "waits too, and says so in an Event, the log and a metric"),
    Difference("wave", "rolls at once for each change", "waits for a second of quiet, so that several changes are one roll (`debounce`)"),
    Difference("wave", "rolls again when a deployment changed the template and the configuration", "sees that the new pods have the new configuration already"),
    Difference("wave", "leaves a StatefulSet's pod stuck that was made with its invalid scheduler", "replaces it"),
    Difference("wave", "publishes a plain SHA-256 of Secrets", "writes keyed digests of Secrets, unless you set `foreign-hashes: same`; its own record is keyed too"),
    Difference("wave", "replaces the whole workload to write its hash", "patches the one annotation"),
    Difference("reloader", "handles Argo Rollouts only with `--is-Argo-Rollouts=true`", "handles them wherever there are any", _rollouts),
    Difference("reloader", "follows CSI classes only with `--enable-csi-integration`", "always does", _csi),
    Difference("reloader", "takes alternatives in a regular expression apart: `a|b` is anything that begins with a or ends with b", "matches whole names", _alternatives),
    Difference("reloader", "starts a Job for a suspended CronJob", "waits until it is resumed", _suspended),
    Difference("reloader", "runs finished Jobs again, and those of CronJobs", "recreates only unfinished Jobs that no CronJob owns, and loses none if that fails halfway", _jobs),
    Difference("reloader", "ignores a pause period on other kinds than Deployments", "holds the next roll for so long", _paused),
    Difference("reloader", "rolls for every key of a source", "rolls for the keys that the workload uses; a source that an annotation names counts whole"),
    Difference("reloader", "never reloads a Deployment whose pause period it cannot read, nor those after it", "reports it, and rolls it at once"),
    Difference("reloader", "rolls for a deleted source also if pods cannot start without it, and not at all where its variable was never written", "holds the former until the source is back, and rolls the latter (`reload-on-delete`)"),
    Difference("reloader", "looks only at the first volume that names a source", "looks at all"),
    Difference("reloader", "follows every CSI driver that has a `secretProviderClass`", "follows that of the Secrets Store"),
    Difference("reloader", "loses changes made while it is down, during a change of leader, or when the API server fails for a moment", "compares what is there with what it recorded, and rolls later"),
    Difference("reloader", "rolls once for each changed source and each change", "waits for a second of quiet, and rolls once (`debounce`)"),
    Difference("reloader", "rolls again when a deployment changed the template and the configuration", "sees that the new pods have the new configuration already"),
    Difference("reloader", "forgets, when it is restarted, which Deployments it has paused", "ends a pause by what is written on the object"),
    Difference("reloader", "stops at the first workload that fails", "goes on with the others, and tries that one again"),
    Difference("reloader", "does not reload for a source that is deleted and created again with other content", "rolls for it"),
    Difference("reloader", "publishes a plain SHA-1 of Secrets", "writes keyed digests of Secrets, unless you set `foreign-hashes: same`; its own record is keyed too"),
)  # fmt: skip
