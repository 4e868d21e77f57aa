"""What annotations, rows of the config file and settings come to, for each workload."""

from collections.abc import Callable
from datetime import timedelta

import msgspec

from reroll.core.dialects.rows import PolicyInput
from reroll.core.model.key import Key
from reroll.core.model.metadata import Manifest, Metadata
from reroll.core.observe.workload import Workload
from reroll.core.policy.policy import Policy
from reroll.core.tables.annotations import ENABLED, STATE
from reroll.core.tables.kinds import Kind
from reroll.engine.lenders import Lenders
from reroll.engine.scope import NamespaceInfo, Scope


class Policies:
    def __init__(self, scope: Scope, lenders: Lenders) -> None:
        self._scope, self._lenders, self._dialects = scope, lenders, scope.dialects
        self.supposed: set[Key] = set()
        """Workloads that count as if they were opted in, whether or not they are."""

    def may_be_in(
        self,
        key: Key,
        info: NamespaceInfo | None,
        manifest: Manifest,
        has_pins: Callable[[Metadata], bool],
    ) -> bool:
        """The quick answer, before anything is decoded. A bad value is looked at more closely."""
        metadata = manifest.metadata
        if key in self.supposed:
            return True
        if info is None or not self._scope.workloads.matches(metadata.labels or {}):
            return False
        annotations = self._lenders.annotations(key, metadata.annotations or {})
        said = self._dialects.may_be_in(annotations, info.annotations, manifest.spec)
        is_in = bool(self._scope.default.enabled) if said is None else said
        return is_in or has_pins(metadata)

    def of(
        self, kind: Kind, seen: Workload, info: NamespaceInfo | None, manifest: Manifest
    ) -> Policy:
        """Of any workload, in a namespace that counts or not."""
        counts = info and self._scope.workloads.matches(manifest.metadata.labels or {})
        if info is None or not counts:
            return Policy()
        return self._dialects.policy(self.input(kind, seen, info, manifest))

    def input(
        self, kind: Kind, seen: Workload, info: NamespaceInfo, manifest: Manifest
    ) -> PolicyInput:
        own = self._lenders.annotations(seen.key, seen.annotations)
        default = self._scope.default_for(seen.key, manifest.metadata.labels or {})
        below = seen.template_annotations
        return PolicyInput(seen.key, kind, own, below, info.annotations, default)

    def judged(self, told: PolicyInput) -> tuple[object, ...]:
        """All that a policy is made from."""
        own = {k: v for k, v in told.workload.items() if k != STATE}
        return own, told.template, told.namespace, told.default

    def policy(self, told: PolicyInput) -> Policy:
        """Of one that is kept."""
        found = self._dialects.policy(told)
        if found.enabled is not True and told.key in self.supposed:
            enabled = {**told.workload, ENABLED: "true"}
            supposed = self._dialects.policy(told._replace(workload=enabled))
            problems = found.problems
            found = msgspec.structs.replace(supposed, enabled=found.enabled, problems=problems)
        if self._scope.notices or found.notice:
            from reroll.core.dialects.notice_rows import routed

            found = routed(found, told.key, self._scope.notices)
        if self._scope.at_once:
            found = msgspec.structs.replace(found, debounce=timedelta())
        return found
