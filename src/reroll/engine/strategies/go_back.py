"""Goes back to an earlier template, as `kubectl rollout undo` does.

One patch: only if the workload still has the record and the template that the roll wrote, so that
no change by anybody else is lost. The new record declines the content, so that neither a controller
nor the next run rolls forward until a source changes again. Where the earlier template is not
given, it is read from the revisions that Kubernetes keeps: a restart in between loses nothing.
"""

import copy
from typing import Any

import msgspec

from reroll.core.decide.actions import GoBack
from reroll.core.model.metadata import Manifest, pick
from reroll.core.model.podspec import without_empty
from reroll.core.model.record import write
from reroll.core.observe.snapshot import Snapshot
from reroll.core.policy.vocabulary import Vocabulary
from reroll.core.revisions.copies import write_pins_into
from reroll.core.revisions.pins import PINS, read_pins, rewrites
from reroll.core.tables.annotations import STATE
from reroll.core.tables.reasons import Reason
from reroll.core.write.patches import RESTARTED_AT, Operation, pointer
from reroll.engine.outcome import Blocked, Done, Step, Turn
from reroll.engine.world import World
from reroll.kube import api, resources
from reroll.kube.client import Client
from reroll.kube.decode import decoded
from reroll.kube.errors import Invalid, NotFound
from reroll.kube.objects import Revision, is_owned_by

RARELY = 600.0
"""Seconds between two tries of what hardly ever comes to be possible."""
_HASHES = ("pod-template-hash", "rollouts-pod-template-hash")
"""Labels that the controller of a workload adds to the templates of its revisions."""


class NoWayBackError(Exception):
    """There is nothing to go back to, or the workload was changed by somebody else."""


class Rollback:
    def __init__(self, client: Client, world: World) -> None:
        self._client, self._world = client, world

    async def step(self, turn: Turn, action: GoBack) -> Step:
        try:
            return await self._go_back(turn, action)
        except NoWayBackError as error:
            if action.rolled is not None:
                raise  # Whoever knows what the roll made tells what came of it.
            reason = Reason.ROLLBACK_FAILED
            return Blocked(reason, f"it failed, and there is no way back: {error}", RARELY)

    async def _go_back(self, turn: Turn, action: GoBack) -> Step:
        """Raises `NoWayBackError` where the workload is not as the roll left it."""
        snapshot, kind, key = turn.snapshot, turn.snapshot.kind, turn.key
        if not kind.template:
            raise NoWayBackError("it has no pod template to go back to")
        place = resources.of(kind), key.namespace, key.name
        manifest = await api.find(self._client, *place, Manifest)
        if manifest is None or manifest.metadata.uid != snapshot.workload.uid:
            raise NotFound(f"{key} was deleted")
        now = _decoded(pick(manifest, kind.template))
        earlier = await self._earlier(snapshot, action, now)
        if action.template is not None and earlier == now and action.rolled is not None:
            self._world.workload_seen(kind, manifest)
            return Done()  # It was done, and the answer was lost.
        self._check(earlier, now, action)
        operations = _operations(snapshot, action, now, earlier)
        try:
            answer = await api.patch(self._client, *place, operations, Manifest)
        except Invalid:
            raise NoWayBackError("it was changed by somebody else") from None
        self._world.workload_seen(kind, answer, watched=True)
        return Done()

    def _check(self, earlier: Any, now: Any, action: GoBack) -> None:
        """Nothing but a roll of ours is undone."""
        words = self._world.dialects.words
        rolled = now if action.rolled is None else _decoded(action.rolled)
        if _bare(now, words) != _bare(earlier, words) or without_empty(now) != without_empty(
            rolled
        ):
            raise NoWayBackError("its template was changed by somebody else")
        if earlier == now:
            raise NoWayBackError("its template never changed, only its pods were replaced")

    async def _earlier(self, snapshot: Snapshot, action: GoBack, now: Any) -> Any:
        if action.template is not None:
            return _decoded(action.template)
        resource = resources.REVISIONS.get(snapshot.kind.revisions)
        if resource is None:
            raise NoWayBackError(f"a {snapshot.kind.name} keeps no earlier templates")
        workload = snapshot.workload
        revisions = await api.every(
            self._client,
            resource,
            workload.key.namespace,
            Revision,
            label_selector=api.selector(workload.selector) or None,
        )
        own = [one for one in revisions if is_owned_by(one.metadata, workload.uid)]
        newest_first = sorted(own, key=lambda one: one.number, reverse=True)
        templates = [_template_of(one) for one in newest_first]
        if snapshot.kind.loose and templates:
            # The API server fills in the defaults of its own kinds, and not of this one.
            templates = [self._rebased(now, templates[0], one) for one in templates]
        for template in templates:
            if without_empty(template) != without_empty(now):
                return template
        raise NoWayBackError("no earlier revision of it is left")

    def _rebased(self, now: Any, newest: Any, earlier: Any) -> Any:
        """The template of an earlier revision, as the difference that it makes to `now`."""
        words = self._world.dialects.words
        if _bare(newest, words) != _bare(earlier, words):
            return earlier
        template = copy.deepcopy(now)
        was, pins = _annotations(earlier), _annotations(now).get(PINS, "")
        if pins or PINS in was:
            named = PINS in was and not any(rewrites(earlier["spec"], read_pins(was[PINS])))
            write_pins_into(template, was.get(PINS, ""), read_pins(pins), named=named)
        marks = {name: text for name, text in was.items() if _is_mark(name, words)}
        others = {
            name: text for name, text in _annotations(template).items() if not _is_mark(name, words)
        }
        template.setdefault("metadata", {})["annotations"] = {**others, **marks}
        for container, before in zip(
            template["spec"]["containers"], earlier["spec"]["containers"], strict=True
        ):
            env = [v for v in container.get("env") or () if not _is_mark(v["name"], words)]
            env += [v for v in before.get("env") or () if _is_mark(v["name"], words)]
            if env or "env" in container:
                container["env"] = env
        return template


def _annotations(template: Any) -> dict[str, str]:
    return (template.get("metadata") or {}).get("annotations") or {}


def _template_of(revision: Revision) -> Any:
    """The template that a ReplicaSet or ControllerRevision keeps, as the workload had it."""
    document = _decoded(revision.data) or {}
    if template := (document.get("spec") or {}).get("template"):
        return {name: value for name, value in template.items() if name != "$patch"}
    template = (_decoded(revision.spec) or {}).get("template") or {}
    metadata = dict(template.get("metadata") or {})
    labels = metadata.get("labels") or {}
    metadata["labels"] = {name: value for name, value in labels.items() if name not in _HASHES}
    return {**template, "metadata": metadata}


def _operations(snapshot: Snapshot, action: GoBack, now: Any, earlier: Any) -> list[Operation]:
    workload, path = snapshot.workload, pointer(*snapshot.kind.template)
    operations: list[Operation] = [
        {"op": "test", "path": "/metadata/uid", "value": workload.uid},
        {"op": "test", "path": path, "value": now},
    ]
    if action.record is not None:
        record = pointer("metadata", "annotations", STATE)
        operations += [
            {"op": "test", "path": record, "value": workload.record_text},
            {"op": "add", "path": record, "value": write(action.record)},
        ]
    return [*operations, {"op": "replace", "path": path, "value": earlier}]


def _bare(template: Any, words: Vocabulary) -> Any:
    """A template without what a roll writes into it."""
    template = copy.deepcopy(template)
    if pins := read_pins(_annotations(template).get(PINS, "")):
        write_pins_into(template, "", pins, named=False)
    metadata, spec = dict(template.get("metadata") or {}), dict(template.get("spec") or {})
    annotations = metadata.get("annotations") or {}
    metadata["annotations"] = {
        name: text for name, text in annotations.items() if not _is_mark(name, words)
    }
    spec["containers"] = [
        {**one, "env": [v for v in one.get("env") or () if not _is_mark(v["name"], words)]}
        for one in spec.get("containers") or ()
    ]
    return without_empty({**template, "metadata": metadata, "spec": spec})


def _is_mark(name: str, words: Vocabulary) -> bool:
    return name == RESTARTED_AT or words.is_mark(name)


def _decoded(raw: msgspec.Raw | None) -> Any:
    return decoded(raw, object, "its template") if raw else {}
