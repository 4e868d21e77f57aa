"""Gathers what `reroll doctor` judges of pins: who rewrites pods, and whose pods need it."""

from reroll.answers.doctor import admission, server
from reroll.answers.doctor.findings import Finding
from reroll.clock import Clock
from reroll.engine import admission_objects
from reroll.engine.admission_objects import NAME_LABEL
from reroll.engine.rewriters import Installed
from reroll.kube import resources
from reroll.kube.objects import Stub
from reroll.kube.view import ListedWorkload, View
from reroll.kube.wire import Which


async def rewriting(view: View, workloads: list[ListedWorkload], clock: Clock) -> list[Finding]:
    """Whether something rewrites the pods of pinned workloads, where that is needed."""
    pinned = [one.workload.key for one in workloads if one.workload.pins]
    unnamed = [one.workload.key for one in workloads if _needs_rewriting(one)]
    near = View(view.client, None, view.home)
    installed = Installed(view.client, clock)
    await installed.refresh()
    places = [view.namespace] if view.namespace else [k.namespace for k in pinned]
    labels = {place: await _labels(near, place) for place in dict.fromkeys(places)}
    found = await _admission(near)
    if view.namespace:
        here = labels[view.namespace]
        covering = {one.name for one in installed.found if one.selector.matches(here)}
        found = found.only(covering)
    uncovered = [k for k in unnamed if not installed.covers(k.namespace, labels[k.namespace])]
    return list(admission.judge(found, uncovered, clock.now()))


async def _labels(view: View, namespace: str) -> dict[str, str]:
    found = await view.get(resources.NAMESPACES, None, namespace, Stub)
    known = (found.metadata.labels or {}) if found else {}
    return {NAME_LABEL: namespace, **known}


async def _admission(view: View) -> admission.Admission:
    """All of it that is ours."""
    versions = [one.version for one in server.MUTATING_POLICIES if await view.serves(one)]
    ours: Which = {"label_selector": admission_objects.OURS}
    policies, bindings = [], []
    for version in versions[:1]:
        policies = await view.every(resources.admission_policies(version), admission.Policy, **ours)
        bound = resources.admission_policy_bindings(version)
        bindings = await view.every(bound, admission.Binding, **ours)
    hooks = await view.every(resources.WEBHOOKS, admission.Webhook, **ours)
    gaps, version = "; ".join(view.gaps), next(iter(versions), admission.FINAL)
    found = admission.Admission(policies, bindings, hooks, (), gaps, version)
    there = [one for one in found.named_services if await view.get(resources.SERVICES, *one, Stub)]
    return found._replace(services=there)


def _needs_rewriting(one: ListedWorkload) -> bool:
    """It has pins, and its template does not name the copies itself."""
    return bool(one.workload.pins) and not one.workload.named
