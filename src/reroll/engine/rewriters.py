"""In which namespaces pods are rewritten when they are made: what is installed, looked at again.

Asked for by a label, so that whoever applied it (the command, the chart, a pipeline) and by which
name does not matter. What may not be listed counts as not there: then names are written into
templates, which is right either way.
"""

import asyncio
from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeVar

import msgspec

from reroll.clock import Clock
from reroll.core.model.metadata import Metadata
from reroll.core.policy.selectors import Requirement, Selector
from reroll.engine.admission_objects import OURS, VERSIONS, Mode, bindings, policies, webhooks
from reroll.kube import wire
from reroll.kube.client import Client
from reroll.kube.decode import Decoder, Versioned
from reroll.kube.errors import Forbidden, NotFound

T = TypeVar("T", bound=Versioned)
FRESH_SECONDS = 60.0
NAME_LABEL = "kubernetes.io/metadata.name"


class Found(NamedTuple):
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


class _Named(msgspec.Struct, gc=False):
    metadata: Metadata


class Installed:
    """What is in force; `refresh` before asking, it costs nothing while the answer is fresh."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client, self._clock = client, clock
        self._asked: float | None = None
        self._lock = asyncio.Lock()
        self.found: tuple[Found, ...] = ()

    async def refresh(self, *, now: bool = False) -> None:
        """Look again, if the last look was long ago."""
        async with self._lock:
            moment = self._clock.monotonic()
            if not now and self._asked is not None and moment - self._asked < FRESH_SECONDS:
                return
            self.found = tuple(await find(self._client))
            self._asked = moment

    def covers(self, namespace: str, labels: Mapping[str, str] | None = None) -> bool:
        """Whether pods that are made in a namespace with these labels are rewritten."""
        return self.mode(namespace, labels) is not Mode.TEMPLATE

    def mode(self, namespace: str, labels: Mapping[str, str] | None = None) -> Mode:
        known = {NAME_LABEL: namespace, **(labels or {})}
        modes = {one.mode for one in self.found if one.selector.matches(known)}
        return next((mode for mode in Mode if mode in modes), Mode.TEMPLATE)


async def find(client: Client) -> list[Found]:
    """Every installation there is, in every mode."""
    found: list[Found] = []
    for version in VERSIONS:
        there = {one.metadata.name for one in await _all(client, policies(version), _Named)}
        for one in await _all(client, bindings(version), _Binding):
            if one.spec.policy_name in there:
                matches = one.spec.match_resources or _Matches()
                selector = _selector((matches.namespace_selector,))
                found.append(Found(Mode.POLICY, one.metadata.name, selector, version))
        if found:
            break
    for each in await _all(client, webhooks(), _Configuration):
        selector = _selector(hook.namespace_selector for hook in each.webhooks or ())
        found.append(Found(Mode.WEBHOOK, each.metadata.name, selector))
    return found


async def _all(client: Client, resource: wire.Resource, model: type[T]) -> list[T]:
    decoder, found, token = Decoder(model), list[T](), ""
    while True:
        request = wire.list_page(resource, label_selector=OURS, continue_=token)
        try:
            page = decoder.page(await client.send(request))
        except (NotFound, Forbidden):
            return found
        found += page.items
        token = page.continue_
        if not token:
            return found


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
