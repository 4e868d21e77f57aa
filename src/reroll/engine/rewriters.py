"""Tells in which namespaces the API server rewrites pods, by what is installed in the cluster.

Installations are found by their label, so it does not matter what applied them (the command, the
chart, a pipeline) and under which name. What may not be listed counts as not installed: then names
are written into templates, which is right either way.
"""

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple, TypeVar

import msgspec

from reroll.clock import Clock
from reroll.core.model.metadata import Metadata
from reroll.core.policy.selectors import Requirement, Selector
from reroll.engine.admission_objects import NAME_LABEL, OURS, VERSIONS, Mode
from reroll.kube import api
from reroll.kube.client import Client
from reroll.kube.decode import Versioned
from reroll.kube.errors import Forbidden, NotFound
from reroll.kube.objects import Stub
from reroll.kube.resources import WEBHOOKS, admission_policies, admission_policy_bindings
from reroll.kube.wire import Resource

T = TypeVar("T", bound=Versioned)
FRESH_SECONDS = 60.0


class Installation(NamedTuple):
    """One installation."""

    mode: Mode
    name: str
    selector: Selector
    """Of namespaces."""
    version: str = ""


class _Expression(msgspec.Struct, gc=False):
    key: str
    operator: str
    values: list[str] | None = None


class _Labels(msgspec.Struct, gc=False, rename="camel"):
    match_labels: dict[str, str] | None = None
    match_expressions: list[_Expression] | None = None


class _Matches(msgspec.Struct, gc=False, rename="camel"):
    namespace_selector: _Labels | None = None


class _BindingSpec(msgspec.Struct, gc=False, rename="camel"):
    policy_name: str = ""
    match_resources: _Matches | None = None


class _Binding(msgspec.Struct, gc=False):
    metadata: Metadata
    spec: _BindingSpec


class _Configuration(msgspec.Struct, gc=False):
    metadata: Metadata
    webhooks: list[_Matches] | None = None


class Installed:
    """What is in force; call `refresh` first, which costs nothing while the answer is fresh."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client, self._clock = client, clock
        self._asked: float | None = None
        self._lock = asyncio.Lock()
        self.found: tuple[Installation, ...] = ()

    async def refresh(self) -> None:
        """Read again, if the last answer is old."""
        async with self._lock:
            moment = self._clock.monotonic()
            if self._asked is not None and moment - self._asked < FRESH_SECONDS:
                return
            self.found = tuple(await installations(self._client))
            self._asked = moment

    def covers(self, namespace: str, labels: Mapping[str, str] | None = None) -> bool:
        """Whether new pods in a namespace with these labels are rewritten."""
        return self.mode(namespace, labels) is not Mode.TEMPLATE

    def mode(self, namespace: str, labels: Mapping[str, str] | None = None) -> Mode:
        known = {NAME_LABEL: namespace, **(labels or {})}
        modes = {one.mode for one in self.found if one.selector.matches(known)}
        return next((mode for mode in Mode if mode in modes), Mode.TEMPLATE)


async def installations(client: Client) -> list[Installation]:
    """Every installation there is, in every mode."""
    installed: list[Installation] = []
    for version in VERSIONS:
        policies = await _all(client, admission_policies(version), Stub)
        names = {policy.metadata.name for policy in policies}
        for binding in await _all(client, admission_policy_bindings(version), _Binding):
            if binding.spec.policy_name in names:
                matches = binding.spec.match_resources or _Matches()
                selector = _selector((matches.namespace_selector,))
                name = binding.metadata.name
                installed.append(Installation(Mode.POLICY, name, selector, version))
        if installed:
            break
    for configuration in await _all(client, WEBHOOKS, _Configuration):
        selector = _selector(hook.namespace_selector for hook in configuration.webhooks or ())
        installed.append(Installation(Mode.WEBHOOK, configuration.metadata.name, selector))
    return installed


async def _all(client: Client, resource: Resource, model: type[T]) -> list[T]:
    objects: list[T] = []
    with suppress(NotFound, Forbidden):
        async for page in api.pages(client, resource, None, model, label_selector=OURS):
            objects += page.items
    return objects


def _selector(selectors: Iterable[_Labels | None]) -> Selector:
    requirements: list[Requirement] = []
    for one in selectors:
        if one is None:
            continue
        for key, value in (one.match_labels or {}).items():
            requirements.append(Requirement(key, frozenset((value,))))
        for each in one.match_expressions or ():
            values = frozenset(each.values or ()) if each.operator in {"In", "NotIn"} else None
            negated = each.operator in {"NotIn", "DoesNotExist"}
            requirements.append(Requirement(each.key, values, negated))
    return Selector(tuple(requirements))
